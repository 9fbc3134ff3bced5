// Has what became old asked for again: at once, soon after once more, then at most every so often,
// however much happens.
import type { AgentThing, QueryKey } from "~/api/keys";

/** After a quiet time: events come in pairs (claimed, started), and the second one counts too. */
const FIRST_GAP_MILLISECONDS = 60;
const GAP_MILLISECONDS = 300;
const LONG_GAP_MILLISECONDS = 1_000;
const SUMS = new Set<unknown>(["usage", "timeline", "traffic", "files"] satisfies AgentThing[]);

const isSum = ([whose, , thing]: QueryKey): boolean => whose === "home" || SUMS.has(thing);

/** How long after a key was asked for it is not asked for again; what sums up much, longer. */
const gapOf = (key: QueryKey): number => (isSum(key) ? LONG_GAP_MILLISECONDS : GAP_MILLISECONDS);
const firstGapOf = (key: QueryKey): number => (isSum(key) ? LONG_GAP_MILLISECONDS : FIRST_GAP_MILLISECONDS);

interface Asked {
  /** From when on the key may be asked for again. */
  due: number;
  /** When the key has been quiet for so long that it begins anew. */
  quiet: number;
}

export class Refresher {
  private readonly waiting = new Map<string, QueryKey>();
  private readonly asked = new Map<string, Asked>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly ask: (key: QueryKey) => void) {}

  add(keys: Iterable<QueryKey>): void {
    for (const key of keys) this.waiting.set(JSON.stringify(key), key);
    this.flush();
  }

  /** Forget what was to be asked for. */
  stop(): void {
    clearTimeout(this.timer);
    this.waiting.clear();
  }

  private flush(): void {
    const now = Date.now();
    for (const [name, { quiet }] of this.asked) if (now >= quiet) this.asked.delete(name);
    let next = Infinity;
    for (const [name, key] of this.waiting) {
      const before = this.asked.get(name);
      if (before && now < before.due) {
        next = Math.min(next, before.due);
        continue;
      }
      const due = now + (before ? gapOf(key) : firstGapOf(key));
      this.asked.set(name, { due, quiet: due + gapOf(key) });
      this.waiting.delete(name);
      this.ask(key);
    }
    clearTimeout(this.timer);
    if (next < Infinity) this.timer = setTimeout(() => this.flush(), next - now);
  }
}
