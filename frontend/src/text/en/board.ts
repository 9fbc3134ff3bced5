export const board = {
  title: "Work board",
};
