// Where the bars of a timeline are: a lane for each entity, rows in it, the ticks of the time. Pure.
import type { Schemas } from "~/api/client";

export type Span = Schemas["SpanView"];
export type Timeline = Schemas["TimelineView"];

export const ROW = 16;
export const ROW_GAP = 3;
const LANE_PAD = 8;

export interface Bar {
  span: Span;
  /** Shares of the whole time: 0 is its start, 1 its end. */
  left: number;
  width: number;
  top: number;
}

export interface Lane {
  entity: string;
  top: number;
  height: number;
  bars: Bar[];
}

export interface Layout {
  lanes: Lane[];
  height: number;
  start: number;
  seconds: number;
}

/** Return the rows of an entity's bars: what is a part lies below it, what overlaps in another row. */
export function rowsOf(spans: readonly Span[], now: number): Map<string, number> {
  const rows = new Map<string, number>();
  const ends: number[] = [];
  const sorted = spans.toSorted((one, other) => one.start - other.start || other.seconds - one.seconds);
  for (const span of sorted) {
    let row = span.parent === null ? 0 : (rows.get(span.parent) ?? -1) + 1;
    while ((ends[row] ?? -Infinity) > span.start + 1e-6) row++;
    rows.set(span.id, row);
    ends[row] = span.end ?? now;
  }
  return rows;
}

export function layout(timeline: Timeline, now: number): Layout {
  const start = timeline.start ?? now;
  const seconds = Math.max(0.001, (timeline.end ?? now) - start);
  let top = 0;
  const lanes = timeline.entities.map((entity): Lane => {
    const spans = timeline.spans.filter((span) => span.entity === entity);
    const rows = rowsOf(spans, now);
    const count = Math.max(1, ...Array.from(rows.values(), (row) => row + 1));
    const height = count * (ROW + ROW_GAP) + 2 * LANE_PAD;
    const bars = spans.map((span): Bar => {
      const left = Math.max(0, (span.start - start) / seconds);
      const width = Math.max(0, Math.min(1, ((span.end ?? now) - start) / seconds) - left);
      const row = rows.get(span.id) ?? 0;
      return { span, left, width, top: top + LANE_PAD + row * (ROW + ROW_GAP) };
    });
    const lane = { entity, top, height, bars };
    top += height;
    return lane;
  });
  return { lanes, height: top, start, seconds };
}

const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

/** Return the seconds, counted from the start, at which the time is told: at most so many. */
export function ticksOf(seconds: number, most: number): number[] {
  const step = STEPS.find((one) => seconds / one <= most) ?? Math.ceil(seconds / most / 86400) * 86400;
  return Array.from({ length: Math.floor(seconds / step) + 1 }, (_, place) => place * step);
}

/** A tick in a few characters: 0s, 1.5s, 2m, 1h 30m. */
export function formatTick(seconds: number): string {
  if (seconds < 60) return `${Number(seconds.toFixed(1))}s`;
  const minutes = Math.floor(seconds / 60);
  const rest = Math.round(seconds % 60);
  if (minutes < 60) return rest ? `${minutes}m ${rest}s` : `${minutes}m`;
  return minutes % 60 ? `${Math.floor(minutes / 60)}h ${minutes % 60}m` : `${minutes / 60}h`;
}

const STEPS_OF_KEYS: Readonly<Record<string, [bars: number, lanes: number]>> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

/** Return the bar to which a key leads: along a lane, or to the bar of another lane at that time. */
export function nextSpan(lanes: readonly Lane[], chosen: Span | null, key: string): Span | null {
  const [bars, down] = STEPS_OF_KEYS[key] ?? [0, 0];
  if (!bars && !down) return null;
  const full = lanes
    .map((lane) => lane.bars.map(({ span }) => span).toSorted((one, other) => one.start - other.start))
    .filter((spans) => spans.length);
  const lane = full.findIndex((spans) => spans.some(({ id }) => id === chosen?.id));
  if (!chosen || lane < 0) return full[0]?.[0] ?? null;
  const there = full[lane + down];
  if (!there) return null;
  if (bars) return there[there.findIndex(({ id }) => id === chosen.id) + bars] ?? null;
  return there.findLast((span) => span.start <= chosen.start) ?? there[0] ?? null;
}
