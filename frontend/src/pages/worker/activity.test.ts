import { expect, test } from "vitest";

import { actsFor, sayingOf } from "./activity";

const event = (type: string, data: Record<string, unknown>) => ({
  type,
  data,
  agent_id: "a",
  ts: 0,
  entity: "ada",
  run_id: null,
  node_id: null,
  seq: 1,
  key: "",
});

test("an event says what was done", () => {
  expect(sayingOf(event("tool.called", { tool: "bash", arguments: { command: "make  test\n" } }))).toBe("bash: make test");
  expect(sayingOf(event("tool.called", { tool: "x", arguments: { a: 1 } }))).toBe("x: a=1");
  expect(sayingOf(event("message.sent", { to: "bob", content: "hello" }))).toBe("→ bob: hello");
  expect(sayingOf(event("newer.type", {}))).toBe("");
  expect(sayingOf(event("model.answered", { text: "x".repeat(999) })).length).toBeLessThan(260);
});

test("what can be done follows from how it stands", () => {
  expect(actsFor("busy", "ready")).toEqual(["pause", "interrupt", "restart", "stop", "kill"]);
  expect(actsFor("paused", "ready")).toContain("step");
  expect(actsFor("stopped", null)).toEqual(["resume", "restart"]);
});
