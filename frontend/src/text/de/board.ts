import type { board as en } from "../en/board";

export const board: typeof en = {
  title: "Arbeitstafel",
};
