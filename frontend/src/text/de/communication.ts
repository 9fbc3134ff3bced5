import type { communication as en } from "../en/communication";

export const communication: typeof en = {
  title: "Austausch",
};
