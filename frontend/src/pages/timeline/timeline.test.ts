import { expect, test } from "vitest";

import { barAt, inOrder, LINE, rowsOf, type Span } from "./rows";
import { moved, tickText, ticksOf, zoomed } from "./scale";

const span = (entity: string, kind: Span["kind"], start: number, end: number | null): Span => ({
  id: `${entity} ${kind} ${start}`,
  parent: null,
  kind,
  entity,
  name: kind,
  node: null,
  start,
  end,
  seconds: (end ?? start) - start,
  count: 1,
  problem: "",
  is_critical: false,
});

const SPANS = [
  span("ada", "node", 0, 10),
  span("ada", "model", 1, 4),
  span("ada", "tool", 2, 5),
  span("ada", "tool", 5, 6),
  span("coordinator", "wait", 3, null),
];

test("nodes are above their parts, and nothing overlaps", () => {
  const [first, second] = rowsOf(["coordinator", "ada"], SPANS, 12);
  expect(first).toMatchObject({ entity: "coordinator", top: 0, lines: 1 });
  expect(second?.lines).toBe(3);
  expect(second?.bars.map((bar) => [bar.span.kind, bar.line])).toEqual([
    ["node", 0],
    ["model", 1],
    ["tool", 2],
    ["tool", 1],
  ]);
});

test("a bar is found where it is drawn; one that lasts reaches to now", () => {
  const rows = rowsOf(["coordinator", "ada"], SPANS, 12);
  const ada = rows[1];
  expect(barAt(rows, 11, 8, 12, 0)?.span.kind).toBe("wait");
  expect(barAt(rows, 3, (ada?.top ?? 0) + 6 + LINE, 12, 0)?.span.kind).toBe("model");
  expect(barAt(rows, 11, (ada?.top ?? 0) + 6, 12, 0)).toBeNull();
  expect(inOrder(rows).map((bar) => bar.span.start)).toEqual([3, 0, 1, 2, 5]);
});

test("a zoom keeps what is under the pointer, and stays within the run", () => {
  const limits = { from: 0, to: 100 };
  expect(zoomed(limits, 25, 0.5, limits)).toEqual({ from: 12.5, to: 62.5 });
  expect(zoomed({ from: 0, to: 50 }, 0, 4, limits)).toEqual(limits);
  expect(moved({ from: 40, to: 60 }, 70, limits)).toEqual({ from: 80, to: 100 });
});

test("marks of the axis are round", () => {
  const ticks = ticksOf({ from: 1003, to: 1061 }, 1000, 8);
  expect(ticks.map(({ at }) => at - 1000)).toEqual([10, 20, 30, 40, 50, 60]);
  expect(tickText(90, 30)).toBe("01:30");
  expect(tickText(0.25, 0.05)).toBe("0.25 s");
  expect(tickText(3725, 300)).toBe("1:02:05");
});
