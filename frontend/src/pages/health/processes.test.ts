import { expect, test } from "vitest";

import { actsFor, type Entity, grouped, isTroubled } from "./processes";

const entity = (address: string, kind: string, more: Partial<Entity> = {}): Entity => ({
  address,
  kind,
  name: address,
  state: "ready",
  pid: 7,
  incarnation: 1,
  host: "",
  cpu: 0,
  memory_bytes: 0,
  mailbox: 0,
  tokens: 0,
  is_estimate: false,
  cost_usd: null,
  step: "",
  restarts: 0,
  cause: null,
  doing: "",
  doing_since: null,
  ...more,
});

test("services come first, a host of tools among them, then team by team", () => {
  const rows = [
    entity("router", "router"),
    entity("survey-1/coordinator", "coordinator"),
    entity("tools/web", "web"),
    entity("survey-1/ada-1", "worker"),
  ];
  expect(grouped(rows).map((group) => [group.agent, group.rows.map((row) => row.address)])).toEqual([
    ["", ["router", "tools/web"]],
    ["survey-1", ["survey-1/coordinator", "survey-1/ada-1"]],
  ]);
});

test("only what makes sense is offered", () => {
  expect(actsFor(entity("supervisor", "supervisor"))).toEqual([]);
  expect(actsFor(entity("broker", "broker"))).toEqual(["restart"]);
  expect(actsFor(entity("a/ada-1", "worker"))).toEqual(["pause", "restart", "stop", "kill"]);
  expect(actsFor(entity("a/ada-1", "worker", { state: "paused" }))[0]).toBe("resume");
  expect(actsFor(entity("a/ada-1", "worker", { state: "failed", pid: null }))).toEqual(["restart"]);
});

test("a process that fails again and again stands out", () => {
  expect(isTroubled(entity("broker", "broker", { state: "backing_off" }))).toBe(true);
  expect(isTroubled(entity("broker", "broker"))).toBe(false);
});
