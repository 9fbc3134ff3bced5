import type { agents as en } from "../en/agents";

export const agents: typeof en = {
  title: "Agenten",
};
