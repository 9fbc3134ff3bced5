import type { conversation as en } from "../en/conversation";

export const conversation: typeof en = {
  title: "Gespräch",
};
