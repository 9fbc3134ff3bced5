import type { events as en } from "../en/events";

export const events: typeof en = {
  title: "Ereignisse",
};
