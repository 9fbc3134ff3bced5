import { expect, test } from "vitest";

import { deed, factsOf, inOrder, length, newDraft, planOf, requestOf, schedule, type Trigger } from "./triggerForm";

const trigger = (more: Partial<Trigger>): Trigger => ({
  id: "t-1",
  agent: "a",
  name: "one",
  type: "scheduled",
  config: { cron: "0 9 * * *", time_zone: "UTC" },
  action: { type: "wake_agent", payload: { task: "Look" } },
  status: "active",
  reason: "",
  missed: "once",
  next_due: null,
  last_due: null,
  last_fired_at: null,
  fired: 0,
  skipped: 0,
  created_at: 1,
  created_by: "",
  ...more,
});

test("a draft is a request once everything that is needed is there", () => {
  const draft = newDraft("Europe/Berlin");
  expect(requestOf(draft)).toBeNull();
  expect(requestOf({ ...draft, name: " mornings ", values: { ...draft.values, task: " Look " } })).toEqual({
    type: "scheduled",
    config: { cron: "0 9 * * MON-FRI", time_zone: "Europe/Berlin", missed: "once" },
    action: { type: "wake_agent", payload: { task: "Look" } },
    name: "mornings",
  });
});

test("when it would fire can be asked before it is said what it does", () => {
  const draft = newDraft("");
  expect(planOf(draft)?.config).toEqual({ cron: "0 9 * * MON-FRI", missed: "once" });
  expect(planOf({ ...draft, values: { cron: "" } })).toBeNull();
  expect(planOf({ ...draft, action: "run_node" })).toBeNull();
});

test("what another type has written is not sent", () => {
  const draft = { ...newDraft("UTC"), type: "delayed" as const };
  const values = { ...draft.values, delay_seconds: "5m", task: "x" };
  expect(requestOf({ ...draft, values })?.config).toEqual({ delay_seconds: "5m", missed: "once" });
});

test("a filter is read line by line", () => {
  expect(factsOf("name=build\n\nnonsense\n to = ada=b ")).toEqual({ name: "build", to: "ada=b" });
});

test("a trigger is told in words", () => {
  expect(schedule(trigger({ config: { interval_seconds: 1800 } }))).toEqual({ time: "30 min" });
  expect(schedule(trigger({ config: { event_pattern: "node.*", filter: { name: "b" } } }))).toEqual({
    event_pattern: "node.*",
    filter: "name=b",
  });
  expect(deed(trigger({}))).toEqual({ type: "wake_agent", said: "Look" });
  expect([length(90), length(7200), length(172800)]).toEqual(["90 s", "2 h", "2 d"]);
});

test("the next one is first, those that ended are last", () => {
  const rows = [
    trigger({ id: "old", status: "cancelled", created_at: 9 }),
    trigger({ id: "late", next_due: 20 }),
    trigger({ id: "soon", next_due: 10 }),
    trigger({ id: "never" }),
  ];
  expect(inOrder(rows).map((one) => one.id)).toEqual(["soon", "late", "never", "old"]);
});
