export const worker = {
  title: "Worker",
};
