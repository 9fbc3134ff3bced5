import { expect, test } from "vitest";

import type { AgentEvent } from "~/live/eventLog";
import { asJsonl, before, isOfType, joined, readFilter, said, toneOf, wantedOf } from "./eventList";

const event = (seq: number, type = "node.created", data: Record<string, unknown> = {}) =>
  ({ seq, type, data, agent_id: "a", ts: seq, entity: "", run_id: null, node_id: null }) as AgentEvent;

test("the filter is that of the address", () => {
  const filter = readFilter(new URLSearchParams("type=node.*&entity=Ada&x=1"));
  expect(filter).toEqual({ type: "node.*", entity: "Ada", node: "" });
  expect(wantedOf(filter)).toEqual({ type: ["node.*"], entity: "Ada" });
  expect(wantedOf(readFilter(new URLSearchParams()))).toEqual({ type: [] });
});

test("a type, a group and everything", () => {
  expect(isOfType("node.failed", "")).toBe(true);
  expect(isOfType("node.failed", "node.*")).toBe(true);
  expect(isOfType("node.failed", "node.failed")).toBe(true);
  expect(isOfType("node.failed", "node.fail")).toBe(false);
  expect(isOfType("nodes.x", "node.*")).toBe(false);
});

test("stretches overlap with what is live, and nothing is shown twice", () => {
  const stretches = [
    { from: 0, to: 2, events: [event(1), event(2)] },
    { from: 2, to: 4, events: [event(3)] },
  ];
  expect(joined(stretches, [event(3), event(5)]).map((one) => one.seq)).toEqual([1, 2, 3, 5]);
});

test("older stretches end at the beginning of the log", () => {
  expect(before(1000)).toEqual({ from: 600, to: 1000 });
  expect(before(30)).toEqual({ from: 0, to: 30 });
  expect(before(0)).toBeNull();
});

test("an event is told in a line", () => {
  expect(said(event(1, "node.completed", { name: "tables", worker: "x", summary: "Three\n found" }))).toBe(
    "tables · Three found",
  );
  expect(said(event(1, "x", { text: "y".repeat(500) })).length).toBe(240);
  expect([toneOf("node.failed"), toneOf("node.completed"), toneOf("model.called")]).toEqual([
    "bad",
    "good",
    "quiet",
  ]);
});

test("the export is a line for each event", () => {
  const lines = asJsonl([event(1), event(2)]).trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as AgentEvent).seq)).toEqual([1, 2]);
});
