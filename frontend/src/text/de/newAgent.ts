import type { newAgent as en } from "../en/newAgent";

export const newAgent: typeof en = {
  title: "Neuer Agent",
};
