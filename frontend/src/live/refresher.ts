// Has what became old asked for again: at once, then at most every so often, however much happens.
import type { AgentThing, QueryKey } from "~/api/keys";

const GAP_MILLISECONDS = 300;
const LONG_GAP_MILLISECONDS = 1_000;
const SUMS = new Set<unknown>(["usage", "timeline", "traffic", "files"] satisfies AgentThing[]);

/** How long after a key was asked for it is not asked for again; what sums up much, longer. */
const gapOf = ([whose, , thing]: QueryKey): number =>
  whose === "home" || SUMS.has(thing) ? LONG_GAP_MILLISECONDS : GAP_MILLISECONDS;

export class Refresher {
  private readonly waiting = new Map<string, QueryKey>();
  private readonly until = new Map<string, number>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly ask: (key: QueryKey) => void) {}

  add(keys: Iterable<QueryKey>): void {
    for (const key of keys) this.waiting.set(JSON.stringify(key), key);
    this.flush();
  }

  /** Forget what was to be asked for. */
  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.waiting.clear();
  }

  private flush(): void {
    const now = Date.now();
    for (const [name, until] of this.until) if (now >= until) this.until.delete(name);
    for (const [name, key] of this.waiting) {
      if (this.until.has(name)) continue;
      this.waiting.delete(name);
      this.until.set(name, now + gapOf(key));
      this.ask(key);
    }
    if (!this.waiting.size || this.timer !== undefined) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.flush();
    }, GAP_MILLISECONDS);
  }
}
