// Hands on what comes in batches, so that a page draws once for many: soon if it is quiet, soon once
// more after that (events come in pairs), at most every so often if much comes.

const SOON_MILLISECONDS = 12;

export class Batch<T> {
  private items: T[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private notBefore = 0;
  private quiet = 0;

  constructor(
    private readonly took: (items: T[]) => void,
    private readonly gapMilliseconds: number,
  ) {}

  add(item: T): void {
    this.items.push(item);
    const wait = Math.max(SOON_MILLISECONDS, this.notBefore - Date.now());
    this.timer ??= setTimeout(() => this.hand(), wait);
  }

  private hand(): void {
    const items = this.items;
    this.items = [];
    this.timer = undefined;
    this.took(items);
    const now = Date.now();
    this.notBefore = now < this.quiet ? now + this.gapMilliseconds : now;
    this.quiet = now + 2 * this.gapMilliseconds;
  }
}
