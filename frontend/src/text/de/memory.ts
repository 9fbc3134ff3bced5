import type { memory as en } from "../en/memory";

export const memory: typeof en = {
  title: "Gedächtnis",
};
