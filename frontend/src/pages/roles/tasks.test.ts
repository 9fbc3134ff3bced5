import { expect, test } from "vitest";

import type { RolesRun } from "~/api/roles";
import { badgeOf, earlierOf, edgesOf, failedRoles, rowsOf } from "./tasks";

const turn = (number: number, from: string, to: string, more: object = {}): RolesRun["turns"][number] => ({
  turn: number,
  action: to === "user" ? "finalize" : "message",
  from_role: from,
  to_role: to,
  from_agent: "codex",
  to_agent: "gemini",
  message: `message ${number}`,
  communication_type: "inter_role",
  success: true,
  ...more,
});

const RUN: RolesRun = {
  agent: "a1",
  run: "r1",
  task: "Build it",
  status: "finalized",
  lead_role: "pm",
  max_turns: 12,
  roles: {},
  turns: [turn(1, "pm", "dev"), turn(2, "dev", "pm", { success: false }), turn(3, "pm", "dev"), turn(4, "pm", "user")],
  times: [11, 25, 30, 40],
  edges: [
    { from_role: "pm", to_role: "dev", count: 2, action: "message", latest: false },
    { from_role: "dev", to_role: "pm", count: 1, action: "message", latest: false },
    { from_role: "pm", to_role: "user", count: 1, action: "finalize", latest: true },
  ],
  role: "",
  ending: "finalized",
  final_output: "done",
};

const node = (id: string, name: string, started_at: number | null) =>
  ({ id, name, started_at }) as Parameters<typeof rowsOf>[1][number];

test("each direction is an edge with its count; the latest and the selected one are marked apart", () => {
  const edges = edgesOf(RUN, { from: "pm", to: "dev" });
  expect(edges.map((edge) => [edge.key, badgeOf(edge), edge.isLatest, edge.isSelected])).toEqual([
    ["pm → dev", "2×", false, true],
    ["dev → pm", "1×", false, false],
    ["pm → user", "finalize", true, false],
  ]);
  expect(edgesOf(RUN, { from: "dev", to: "user" }).some((edge) => edge.isSelected)).toBe(false);
});

test("a turn took what passed since its first attempt began; a selected edge shows its turns alone", () => {
  const nodes = [node("a", "turn-1", 5), node("b", "turn-2", 12), node("c", "turn-2-fallback", 20)];
  const rows = rowsOf(RUN, nodes, null);
  expect(rows.map((row) => [row.turn.turn, row.seconds, row.nodes])).toEqual([
    [1, 6, ["a"]],
    [2, 13, ["b", "c"]],
    [3, null, []],
    [4, null, []],
  ]);
  expect(rowsOf(RUN, nodes, { from: "pm", to: "dev" }).map((row) => row.turn.turn)).toEqual([1, 3]);
});

test("a role has failed if its last turn has", () => {
  expect([...failedRoles(RUN)]).toEqual(["dev"]);
});

test("a next task is told of the team's tasks before that have ended, and how", () => {
  const run = (goal: string, more: object) =>
    ({ goal, status: "completed", has_roles: true, result: `${goal}!`, reason: null, ...more }) as Parameters<
      typeof earlierOf
    >[0][number];
  expect(
    earlierOf([
      run("plain", { has_roles: false }),
      run("one", {}),
      run("two", { status: "failed", result: null, reason: "its lead failed" }),
      run("three", { status: "running", result: null }),
    ]),
  ).toEqual([
    { task: "one", output: "one!" },
    { task: "two", output: "its lead failed" },
  ]);
});
