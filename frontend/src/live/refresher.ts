// Has what became old asked for again: at once, then as often as the answers are cheap, however much
// happens.
import type { AgentThing, QueryKey } from "~/api/keys";

const GAP_MILLISECONDS = 60;
const LONG_GAP_MILLISECONDS = 1_000;
/** What took so long is left alone for so many times as long: at most a sixth of the time is spent on it. */
const REST = 5;
const SUMS = new Set<unknown>(["usage", "timeline", "traffic", "files"] satisfies AgentThing[]);

/** How long after its answer a key is not asked for again at least; what sums up much, longer. */
const gapOf = ([whose, , thing]: QueryKey): number =>
  whose === "home" || SUMS.has(thing) ? LONG_GAP_MILLISECONDS : GAP_MILLISECONDS;

export class Refresher {
  /** What was asked for and may not be yet again, and what is to happen then. */
  private readonly resting = new Map<string, ReturnType<typeof setTimeout> | null>();
  private readonly waiting = new Map<string, QueryKey>();

  constructor(private readonly ask: (key: QueryKey) => Promise<unknown>) {}

  add(keys: Iterable<QueryKey>): void {
    for (const key of keys) {
      const name = JSON.stringify(key);
      if (this.resting.has(name)) this.waiting.set(name, key);
      else void this.begin(name, key);
    }
  }

  /** Forget what was to be asked for. */
  stop(): void {
    for (const timer of this.resting.values()) if (timer !== null) clearTimeout(timer);
    this.resting.clear();
    this.waiting.clear();
  }

  private async begin(name: string, key: QueryKey): Promise<void> {
    this.resting.set(name, null);
    const began = Date.now();
    await this.ask(key).catch(() => undefined); // its query says what was wrong; it is asked for again
    if (!this.resting.has(name)) return;
    const rest = Math.max(gapOf(key), REST * (Date.now() - began));
    this.resting.set(name, setTimeout(() => this.again(name), rest));
  }

  private again(name: string): void {
    const key = this.waiting.get(name);
    this.waiting.delete(name);
    this.resting.delete(name);
    if (key) void this.begin(name, key);
  }
}
