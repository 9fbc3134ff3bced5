export const newAgent = {
  title: "New agent",
};
