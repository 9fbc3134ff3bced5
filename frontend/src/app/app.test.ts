import { expect, test } from "vitest";

import { byActivity, isOpenAtFirst, LISTED, newestFirst } from "./groups";
import { rank } from "./rank";

test("what one types finds words, not scattered letters", () => {
  expect(rank("ada survey/ada-1", "dark", ["worker"])).toBe(0);
  expect(rank("Appearance: Dark", "dark")).toBeGreaterThan(rank("Appearance: Dark", "ark"));
  expect(rank("Work board", "wo")).toBe(1);
  expect(rank("hosting", "shop", ["Compare offers for a shop"])).toBeGreaterThan(0);
  expect(rank("hosting", "hosting x")).toBe(0);
  expect(rank("hosting", "")).toBe(1);
});

test("the newest agents come first, and those at work are open", () => {
  expect(newestFirst([{ created_at: 1 }, { created_at: 3 }]).map((one) => one.created_at)).toEqual([3, 1]);
  expect(isOpenAtFirst("working", false, 0)).toBe(true);
  expect(isOpenAtFirst("working", false, 50)).toBe(false);
  expect(isOpenAtFirst("completed", false, 0)).toBe(false);
  expect(isOpenAtFirst("completed", true, 50)).toBe(true);
});

test("of many workers those that ask and those at work come first", () => {
  const many = [...Array(LISTED).fill("idle"), "busy", "waiting_for_human"].map((status: string) => ({ status }));
  expect(byActivity(many).slice(0, 3).map((one) => one.status)).toEqual(["waiting_for_human", "busy", "idle"]);
  const few = [{ status: "idle" }, { status: "busy" }];
  expect(byActivity(few)).toEqual(few);
});
