// The line that names what is attached to a message, read back. Pure.
export interface Attached {
  path: string;
  name: string;
  bytes: number;
}

const LINE = /\n\nAttached: ((?:[^\n]+? \(\d+ bytes\)(?:, )?)+)$/;
const ONE = /(?:^|, )(.+?) \((\d+) bytes\)/g;

/** Return a message's own text, and the files that it names. */
export function withoutAttached(content: string): { text: string; files: Attached[] } {
  const line = LINE.exec(content);
  if (!line) return { text: content, files: [] };
  const files = Array.from((line[1] ?? "").matchAll(ONE), ([, path = "", bytes = "0"]) => ({
    path,
    name: path.slice(path.lastIndexOf("/") + 1),
    bytes: Number(bytes),
  }));
  return { text: content.slice(0, line.index), files };
}

/** Return the query that names the run in which a message was written, '' for the current one. */
export function runOf(runs: readonly { id: string; started_at: number }[], at: number): string {
  const sorted = runs.toSorted((one, other) => one.started_at - other.started_at);
  const run = sorted.findLast((one) => one.started_at <= at);
  return run && run !== sorted.at(-1) ? `?run=${encodeURIComponent(run.id)}` : "";
}
