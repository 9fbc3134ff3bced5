// Which agents the sidebar shows in which order, and which of them open. Pure but for what is kept.
const KEPT_AS = "agiraph.open";
const ENDED = new Set(["completed", "failed", "stopped"]);
const OPEN_AT_FIRST = 6;

export const newestFirst = <Agent extends { created_at: number }>(agents: readonly Agent[]): Agent[] =>
  agents.toSorted((one, other) => other.created_at - one.created_at);

/** Whether a group is open that nobody has opened or closed. */
export const isOpenAtFirst = (status: string, isShown: boolean, place: number): boolean =>
  isShown || (!ENDED.has(status) && place < OPEN_AT_FIRST);

/** So many workers of an agent are listed at first. */
export const LISTED = 12;

const CALM = ["waiting_for_human", "busy", "paused"];
const calmness = (status: string) => (CALM.indexOf(status) + CALM.length + 1) % (CALM.length + 1);

/** Return workers in the order in which they matter: those that ask, those at work, the others. */
export const byActivity = <Worker extends { status: string }>(workers: readonly Worker[]): Worker[] =>
  workers.length <= LISTED
    ? [...workers]
    : workers.toSorted((one, other) => calmness(one.status) - calmness(other.status));

export function keptOpen(): Record<string, boolean> {
  try {
    return JSON.parse(localStorage.getItem(KEPT_AS) ?? "{}") as Record<string, boolean>;
  } catch {
    return {};
  }
}

export const keepOpen = (open: Record<string, boolean>): void =>
  localStorage.setItem(KEPT_AS, JSON.stringify(open));
