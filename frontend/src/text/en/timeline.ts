export const timeline = {
  title: "Timeline",
};
