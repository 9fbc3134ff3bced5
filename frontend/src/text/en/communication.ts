export const communication = {
  title: "Communication",
};
