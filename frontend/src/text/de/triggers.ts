import type { triggers as en } from "../en/triggers";

export const triggers: typeof en = {
  title: "Auslöser",
};
