// Joins class names; what is no text is left out.
export const classes = (...names: unknown[]): string =>
  names.filter((name) => typeof name === "string" && name).join(" ");
