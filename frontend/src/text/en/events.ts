export const events = {
  title: "Events",
};
