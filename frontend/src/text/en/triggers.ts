export const triggers = {
  title: "Triggers",
};
