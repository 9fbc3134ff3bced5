// The days of a chart and its scale. Pure.
import type { Schemas } from "~/api/client";

export type UsageRow = Schemas["UsageRow"];

export interface Day {
  /** As `2026-01-31`, of UTC. */
  day: string;
  usd: number;
  tokens: number;
  calls: number;
  isEstimate: boolean;
}

export type Measure = "usd" | "tokens";

const DAY = 86_400_000;

/** Return the last `count` days up to the present, each with what was spent in it. */
export function lastDays(rows: readonly UsageRow[], now: number, count: number): Day[] {
  const known = new Map(rows.map((row) => [row.key, row]));
  return Array.from({ length: count }, (_, place) => {
    const day = new Date(now * 1000 - (count - 1 - place) * DAY).toISOString().slice(0, 10);
    const row = known.get(day);
    return {
      day,
      usd: row?.usage.cost_usd ?? 0,
      tokens: row ? tokensOf(row.usage) : 0,
      calls: row?.calls ?? 0,
      isEstimate: row?.usage.is_estimate ?? false,
    };
  });
}

export const tokensOf = (usage: Schemas["Usage"]): number =>
  usage.input_tokens + usage.output_tokens;

const STEPS = [1, 2, 2.5, 5, 10];

/** Return round values from 0 to at least `most`, in `steps` steps at most. */
export function ticks(most: number, steps = 4): number[] {
  if (!(most > 0)) return [0, 1];
  const rough = most / steps;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = (STEPS.find((factor) => factor * unit >= rough) ?? 10) * unit;
  const count = Math.ceil(most / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, place) => place * step);
}

export interface Bar extends Day {
  x: number;
  width: number;
  height: number;
}

/** Return the bars in a field of `width` by `height`, `top` being the value at its upper edge. */
export function bars(
  days: readonly Day[],
  measure: Measure,
  top: number,
  width: number,
  height: number,
): Bar[] {
  const room = width / Math.max(1, days.length);
  const gap = Math.min(6, room * 0.24);
  return days.map((day, place) => ({
    ...day,
    x: place * room + gap / 2,
    width: Math.max(1, room - gap),
    height: top > 0 ? Math.min(height, (day[measure] / top) * height) : 0,
  }));
}

/** Return which days are named below a chart: about `most` of them, the last one among them. */
export function labelled(count: number, most: number): Set<number> {
  const every = Math.max(1, Math.ceil(count / most));
  const places = new Set<number>();
  for (let place = count - 1; place >= 0; place -= every) places.add(place);
  return places;
}

/** Return the part that a value is of a limit, from 0 to 1; null where nothing is bounded. */
export function part(spent: number, limit: number | null | undefined): number | null {
  if (limit == null) return null;
  if (limit === 0) return 1;
  return Math.min(1, spent / limit);
}
