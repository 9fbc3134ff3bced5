// Whether everything is shown, or results only: kept in this browser.
const KEPT_AS = "agiraph.conversation";

export const isAllKept = (): boolean => localStorage.getItem(KEPT_AS) !== "results";

export const keepAll = (isAll: boolean): void =>
  localStorage.setItem(KEPT_AS, isAll ? "everything" : "results");
