export const questions = {
  open: "{{count}} open questions",
  open_one: "{{count}} open question",
};
