// Who wrote to whom as a picture: entities on a circle, an arrow for each direction. Pure.
import type { Traffic } from "~/api/traffic";

export interface Place {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  /** How many texts it wrote and got. */
  readonly wrote: number;
  readonly got: number;
}

export interface Arrow {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly count: number;
  /** An SVG path, and where its count stands. */
  readonly path: string;
  readonly at: { readonly x: number; readonly y: number };
  /** 0 to 1: how many there are beside the most of all. */
  readonly weight: number;
}

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly places: readonly Place[];
  readonly arrows: readonly Arrow[];
}

const FIRST = ["human", "coordinator"];
export const PILL = { width: 148, height: 44 } as const;
const MARGIN = 12;
const BEND = 0.16;

export const keyOf = ({ from, to }: { from: string; to: string }): string => `${from} → ${to}`;

/** How often somebody has written to somebody. */
export type Way = Pick<Traffic, "from" | "to" | "count">;

interface Round {
  /** Who is in the middle, if there are others than two. */
  middle?: string;
  /** Those who are there although they have written nothing. */
  all?: readonly string[];
  /** How far the others are from the middle at least, and how much further to the sides. */
  least?: number;
  aspect?: number;
}

/** Return the picture: the coordinator in the middle, the others round it in the order they came. */
export function pictureOf(
  traffic: readonly Way[],
  { middle: wanted = "coordinator", all = [], least = 170, aspect = 1.35 }: Round = {},
): Picture {
  const names = Array.from(new Set([...all, ...traffic.flatMap(({ from, to }) => [from, to])]));
  const middle = names.includes(wanted) && names.length > 2 ? wanted : null;
  const outer = names
    .filter((name) => name !== middle)
    .toSorted((one, other) => rank(one) - rank(other));
  const apart = (PILL.width + 30) / (aspect * Math.sin((2 * Math.PI) / Math.max(4, outer.length)));
  const radius = Math.max(least, apart);
  const [width, height] = [radius * aspect + PILL.width / 2 + MARGIN, radius + PILL.height / 2 + MARGIN].map(
    (half) => 2 * Math.round(half),
  ) as [number, number];
  const total = (name: string, side: "from" | "to") =>
    traffic.reduce((sum, one) => sum + (one[side] === name ? one.count : 0), 0);
  const place = (name: string, x: number, y: number): Place => ({
    name,
    x: Math.round(x),
    y: Math.round(y),
    wrote: total(name, "from"),
    got: total(name, "to"),
  });
  const places = outer.map((name, index) => {
    const turn = (index / outer.length) * 2 * Math.PI - Math.PI / 2;
    return place(name, width / 2 + Math.cos(turn) * radius * aspect, height / 2 + Math.sin(turn) * radius);
  });
  if (middle) places.push(place(middle, width / 2, height / 2));
  return { width, height, places, arrows: arrowsOf(traffic, places) };
}

const rank = (name: string) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);

function arrowsOf(traffic: readonly Way[], places: readonly Place[]): Arrow[] {
  const byName = new Map(places.map((place) => [place.name, place]));
  const most = Math.max(1, ...traffic.map((one) => one.count));
  return traffic.flatMap((one) => {
    const [from, to] = [byName.get(one.from), byName.get(one.to)];
    if (!from || !to || from === to) return [];
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const control = {
      x: (from.x + to.x) / 2 - dy * BEND,
      y: (from.y + to.y) / 2 + dx * BEND,
    };
    const start = edgeOf(from, control);
    const end = edgeOf(to, control);
    const at = {
      x: Math.round(start.x / 4 + control.x / 2 + end.x / 4),
      y: Math.round(start.y / 4 + control.y / 2 + end.y / 4),
    };
    return [
      {
        key: keyOf(one),
        from: one.from,
        to: one.to,
        count: one.count,
        path: `M${start.x} ${start.y}Q${control.x.toFixed(1)} ${control.y.toFixed(1)} ${end.x} ${end.y}`,
        at,
        weight: one.count / most,
      },
    ];
  });
}

/** Return where a line from the middle of a pill to a point leaves it, with a little room. */
function edgeOf(place: Place, to: { x: number; y: number }): { x: number; y: number } {
  const [dx, dy] = [to.x - place.x, to.y - place.y];
  const scale = Math.min(
    (PILL.width / 2 + 6) / Math.max(Math.abs(dx), 0.01),
    (PILL.height / 2 + 6) / Math.max(Math.abs(dy), 0.01),
    1,
  );
  return { x: Math.round(place.x + dx * scale), y: Math.round(place.y + dy * scale) };
}
