import { expect, test } from "vitest";

import { bars, labelled, lastDays, part, ticks, type UsageRow } from "./days";

const usage = {
  input_tokens: 100,
  output_tokens: 20,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  cost_usd: 0.5,
  is_estimate: false,
};
const row = (key: string): UsageRow => ({ key, name: "", run: "", calls: 2, seconds: 3, usage });
const NOON = Date.UTC(2026, 0, 3, 12) / 1000;

test("every day has its place, also one on which nothing was spent", () => {
  expect(lastDays([row("2026-01-03"), row("2026-01-01"), row("2025-06-01")], NOON, 3)).toEqual([
    { day: "2026-01-01", usd: 0.5, tokens: 120, calls: 2, isEstimate: false },
    { day: "2026-01-02", usd: 0, tokens: 0, calls: 0, isEstimate: false },
    { day: "2026-01-03", usd: 0.5, tokens: 120, calls: 2, isEstimate: false },
  ]);
});

test("the scale has round values and ends above the highest bar", () => {
  expect(ticks(0)).toEqual([0, 1]);
  expect(ticks(0.9)).toEqual([0, 0.25, 0.5, 0.75, 1]);
  expect(ticks(1200)).toEqual([0, 500, 1000, 1500]);
  expect(ticks(10)).toEqual([0, 2.5, 5, 7.5, 10]);
});

test("bars are as high as what they stand for, and do not leave the field", () => {
  const days = lastDays([row("2026-01-03")], NOON, 2);
  const [none, half] = bars(days, "usd", 1, 100, 80);
  expect(none?.height).toBe(0);
  expect(half?.height).toBe(40);
  expect((half?.x ?? 0) + (half?.width ?? 0)).toBeLessThanOrEqual(100);
  expect(bars(days, "usd", 0, 100, 80)[1]?.height).toBe(0);
});

test("the last day is always named", () => {
  expect(labelled(30, 6)).toEqual(new Set([29, 24, 19, 14, 9, 4]));
  expect(labelled(3, 6)).toEqual(new Set([2, 1, 0]));
});

test("a budget of nothing is spent at once, none is never", () => {
  expect(part(1, null)).toBeNull();
  expect(part(1, 0)).toBe(1);
  expect(part(3, 2)).toBe(1);
  expect(part(1, 4)).toBe(0.25);
});
