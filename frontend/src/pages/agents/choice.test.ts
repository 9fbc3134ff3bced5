import { expect, test } from "vitest";

import { chosen } from "./choice";

const agent = (name: string, status: string, created_at: number, open_questions = 0) => ({
  name,
  goal: `the goal of ${name}`,
  status,
  created_at,
  open_questions,
});

const agents = [
  agent("old", "working", 1),
  agent("new", "working", 3),
  agent("done", "completed", 9),
  agent("asking", "working", 0, 1),
];
const names = (found: { name: string }[]) => found.map(({ name }) => name);

test("who waits for the person comes first, then who works, the newest first", () => {
  expect(names(chosen(agents, "all", ""))).toEqual(["asking", "new", "old", "done"]);
});

test("agents come in the order that is asked for", () => {
  const costs = agents.map((one, place) => ({ ...one, cost_usd: place === 2 ? null : place }));
  expect(names(chosen(costs, "all", "", "newest"))).toEqual(["done", "new", "old", "asking"]);
  expect(names(chosen(costs, "all", "", "oldest"))).toEqual(["asking", "old", "new", "done"]);
  expect(names(chosen(costs, "all", "", "costliest"))).toEqual(["asking", "new", "done", "old"]);
  expect(names(chosen(costs, "all", "", "name"))).toEqual(["asking", "done", "new", "old"]);
});

test("a group and words narrow what is shown", () => {
  expect(names(chosen(agents, "ended", ""))).toEqual(["done"]);
  expect(names(chosen(agents, "waiting", ""))).toEqual(["asking"]);
  expect(names(chosen(agents, "all", "GOAL new"))).toEqual(["new"]);
  expect(names(chosen(agents, "atWork", "done"))).toEqual([]);
});
