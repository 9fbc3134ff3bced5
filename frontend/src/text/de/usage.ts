import type { usage as en } from "../en/usage";

export const usage: typeof en = {
  title: "Verbrauch",
};
