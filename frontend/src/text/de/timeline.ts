import type { timeline as en } from "../en/timeline";

export const timeline: typeof en = {
  title: "Zeitachse",
};
