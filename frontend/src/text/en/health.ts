export const health = {
  title: "Health",
};
