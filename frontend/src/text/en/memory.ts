export const memory = {
  title: "Memory",
};
