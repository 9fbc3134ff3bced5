// @vitest-environment jsdom
import { expect, test, vi } from "vitest";

import type { AgentEvent } from "~/live/eventLog";
import { asJsonl, isOfType, joined, readFilter, wantedOf } from "./eventList";
import { readOlder } from "./useEventLog";

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
    { before: null, events: [event(1), event(2)] },
    { before: 3, events: [event(3)] },
  ];
  expect(joined(stretches, [event(3), event(5)]).map((one) => one.seq)).toEqual([1, 2, 3, 5]);
});

test("older ones are looked for until there are some, or none at all", async () => {
  const asked: string[] = [];
  const pages = [
    { events: [], next: 899, previous: 500 },
    { events: [event(3)], next: 499, previous: null },
    { events: [], next: 2, previous: null },
  ];
  vi.stubGlobal("fetch", (request: Request) => {
    asked.push(new URL(request.url).search);
    return Promise.resolve(Response.json(pages[asked.length - 1]));
  });
  expect(await readOlder("a", 900, { type: ["node.*"] })).toEqual({ before: null, events: [event(3)] });
  expect(asked).toEqual(["?before=900&limit=400&type=node.*", "?before=500&limit=400&type=node.*"]);
  expect(await readOlder("a", 3, { type: [] })).toEqual({ before: null, events: [] });
  vi.unstubAllGlobals();
});

test("the export is a line for each event", () => {
  const lines = asJsonl([event(1), event(2)]).trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as AgentEvent).seq)).toEqual([1, 2]);
});
