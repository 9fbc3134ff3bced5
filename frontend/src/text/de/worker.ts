import type { worker as en } from "../en/worker";

export const worker: typeof en = {
  title: "Mitarbeiter",
};
