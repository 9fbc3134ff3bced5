// Has what became old asked for again: at once, then at most every so often, however much happens.
import type { QueryKey } from "~/api/keys";

const GAP_MILLISECONDS = 300;

export class Refresher {
  private readonly waiting = new Map<string, QueryKey>();
  private readonly asked = new Map<string, number>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly ask: (key: QueryKey) => void,
    private readonly gap = GAP_MILLISECONDS,
  ) {}

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
    for (const [name, at] of this.asked) if (now - at >= this.gap) this.asked.delete(name);
    for (const [name, key] of this.waiting) {
      if (this.asked.has(name)) continue;
      this.waiting.delete(name);
      this.asked.set(name, now);
      this.ask(key);
    }
    if (!this.waiting.size || this.timer !== undefined) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.flush();
    }, this.gap);
  }
}
