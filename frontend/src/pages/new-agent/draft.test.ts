import { expect, test } from "vitest";

import { BLANK, modelsOf, notNumbers, requestOf } from "./draft";

test("what is blank is left to the settings", () => {
  expect(requestOf({ ...BLANK, goal: " Survey " })).toEqual({
    goal: "Survey",
    mode: "finite",
    record: false,
  });
});

test("amounts are read as people write them, minutes become seconds", () => {
  const draft = { ...BLANK, goal: "x", usd: "2.5", tokens: "1,000,000", notes: "all" as const, mode: "infinite" as const, cycleMinutes: "15" };
  expect(requestOf(draft)).toMatchObject({ budget_usd: 2.5, budget_tokens: 1_000_000, cycle_seconds: 900, notes: "all" });
  expect(requestOf({ ...draft, mode: "finite" })).not.toHaveProperty("cycle_seconds");
});

test("what is no number is named and not sent", () => {
  const draft = { ...BLANK, goal: "x", usd: "much", tokens: "1.5", cycleMinutes: "often" };
  expect(notNumbers(draft)).toEqual(["usd", "tokens"]);
  expect(requestOf(draft)).not.toHaveProperty("budget_usd");
});

test("models that can be called come first, each once", () => {
  const models = modelsOf([
    { usable: false, default_model: "a/x", models: [{ name: "a/x" }, { name: "a/y" }] },
    { usable: true, default_model: "b/z", models: [] },
  ]);
  expect(models).toEqual([
    { name: "b/z", isUsable: true },
    { name: "a/x", isUsable: false },
    { name: "a/y", isUsable: false },
  ]);
});

test("only a plan that a model makes can be all that is wanted", () => {
  const draft = { ...BLANK, goal: "x", isPlanOnly: true };
  expect(requestOf(draft)).not.toHaveProperty("plan_only");
  expect(requestOf({ ...draft, planning: "dynamic" })).toMatchObject({ planning: "dynamic" });
  expect(requestOf({ ...draft, planning: "dynamic" })).not.toHaveProperty("plan_only");
  expect(requestOf({ ...draft, planning: "static" })).toMatchObject({ planning: "static", plan_only: true });
  expect(requestOf({ ...draft, planning: "static", plan: "nodes: []" })).not.toHaveProperty("planning");
});
