import type { health as en } from "../en/health";

export const health: typeof en = {
  title: "Zustand",
};
