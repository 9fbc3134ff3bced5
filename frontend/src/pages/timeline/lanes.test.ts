import { expect, test } from "vitest";

import { formatTick, layout, nextSpan, rowsOf, type Span, ticksOf } from "./lanes";

const span = (id: string, start: number, end: number | null, more: Partial<Span> = {}): Span => ({
  id,
  parent: null,
  kind: "node",
  entity: "ada",
  name: id,
  node: null,
  start,
  end,
  seconds: (end ?? start) - start,
  count: 1,
  problem: "",
  is_critical: false,
  ...more,
});

test("parts lie below what they are a part of, what overlaps in rows of its own", () => {
  const rows = rowsOf(
    [span("node", 0, 10), span("call", 1, 3, { parent: "node" }), span("tool", 2, 4, { parent: "node" }), span("next", 10, 12)],
    20,
  );
  expect(Object.fromEntries(rows)).toEqual({ node: 0, call: 1, tool: 2, next: 0 });
});

test("bars have their share of the whole time; one that lasts reaches to now", () => {
  const found = layout(
    {
      run: "r",
      start: 100,
      end: null,
      seq: 1,
      resolution_seconds: 0,
      entities: ["coordinator", "ada"],
      spans: [span("a", 110, null)],
      critical: [],
    },
    120,
  );
  expect(found.seconds).toBe(20);
  const [first, second] = found.lanes;
  expect(first?.bars).toEqual([]);
  expect(second?.top).toBe(first?.height);
  expect(second?.bars[0]).toMatchObject({ left: 0.5, width: 0.5 });
});

test("the time is told at round moments", () => {
  expect(ticksOf(10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(ticksOf(7200, 8)).toEqual([0, 900, 1800, 2700, 3600, 4500, 5400, 6300, 7200]);
  expect([0, 1.5, 90, 120, 5400, 7200].map(formatTick)).toEqual(["0s", "1.5s", "1m 30s", "2m", "1h 30m", "2h"]);
});

test("arrows lead along a lane, and to the same time of another", () => {
  const spans = [span("a", 0, 1), span("b", 5, 6), span("x", 4, 9, { entity: "bob" })];
  const { lanes } = layout(
    { run: "r", start: 0, end: 10, seq: 1, resolution_seconds: 0, entities: ["ada", "none", "bob"], spans, critical: [] },
    10,
  );
  const [a, b, x] = spans as [Span, Span, Span];
  expect(nextSpan(lanes, null, "ArrowRight")).toBe(a);
  expect(nextSpan(lanes, a, "ArrowRight")).toBe(b);
  expect(nextSpan(lanes, b, "ArrowRight")).toBeNull();
  expect(nextSpan(lanes, b, "ArrowDown")).toBe(x);
  expect(nextSpan(lanes, x, "ArrowUp")).toBe(a);
  expect(nextSpan(lanes, a, "x")).toBeNull();
});
