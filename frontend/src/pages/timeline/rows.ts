// The bars of a run as rows, one for each entity, with lines in it so that no two overlap. Pure.
import type { Schemas } from "~/api/client";

export type Span = Schemas["SpanView"];
export type Kind = Span["kind"];

export interface Bar {
  readonly span: Span;
  /** The line of its row: 0 for nodes, below them what is a part of them. */
  readonly line: number;
}

export interface Row {
  readonly entity: string;
  readonly bars: readonly Bar[];
  readonly lines: number;
  /** From the top of all, in pixels. */
  readonly top: number;
  readonly height: number;
}

export const LINE = 20;
const PADDING = 10;
const OUTER: readonly Kind[] = ["node", "outside"];
const MOST_LINES = 8;

/** Return the rows from top to bottom; `now` is where a bar ends that lasts. */
export function rowsOf(entities: readonly string[], spans: readonly Span[], now: number): Row[] {
  const byEntity = new Map<string, Span[]>(entities.map((entity) => [entity, []]));
  for (const span of spans) {
    const known = byEntity.get(span.entity);
    if (known) known.push(span);
    else byEntity.set(span.entity, [span]);
  }
  let top = 0;
  return Array.from(byEntity, ([entity, own]) => {
    const outer = placed(own.filter((span) => OUTER.includes(span.kind)), 0, now);
    const below = outer.lines;
    const inner = placed(own.filter((span) => !OUTER.includes(span.kind)), below, now);
    const lines = Math.max(1, below + inner.lines);
    const row = { entity, bars: [...outer.bars, ...inner.bars], lines, top, height: lines * LINE + PADDING };
    top += row.height;
    return row;
  });
}

/** Put bars into as few lines as hold them side by side. */
function placed(spans: readonly Span[], first: number, now: number) {
  const ends: number[] = [];
  const bars = spans
    .toSorted((one, other) => one.start - other.start)
    .map((span): Bar => {
      const free = ends.findIndex((end) => end <= span.start);
      const line = free >= 0 ? free : Math.min(ends.length, MOST_LINES - 1);
      ends[line] = Math.max(ends[line] ?? 0, span.end ?? now);
      return { span, line: first + line };
    });
  return { bars, lines: ends.length };
}

/** Return the bar at a time and height, the innermost first; `slack` are seconds to each side. */
export function barAt(rows: readonly Row[], at: number, y: number, now: number, slack: number): Bar | null {
  const row = rows.find((one) => y >= one.top && y < one.top + one.height);
  if (!row) return null;
  const line = Math.floor((y - row.top - PADDING / 2) / LINE);
  const isHit = ({ span, line: own }: Bar) =>
    own === line && span.start - slack <= at && at <= (span.end ?? now) + slack;
  return row.bars.findLast(isHit) ?? null;
}

/** Return all bars in the order in which arrow keys go through them: row by row, by their start. */
export const inOrder = (rows: readonly Row[]): Bar[] =>
  rows.flatMap((row) => row.bars.toSorted((one, other) => one.span.start - other.span.start));

export const topOf = (row: Row, bar: Bar): number => row.top + PADDING / 2 + bar.line * LINE;
