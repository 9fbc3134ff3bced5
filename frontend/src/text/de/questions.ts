import type { questions as en } from "../en/questions";

export const questions: typeof en = {
  open: "{{count}} offene Fragen",
  open_one: "{{count}} offene Frage",
};
