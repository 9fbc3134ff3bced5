import { expect, test } from "vitest";

import type { ThreadEntry } from "~/api/stretches";
import { itemOf } from "./items";
import { givenOf, subjectOf } from "./toolText";

const entry = (id: string, more: Partial<ThreadEntry>): ThreadEntry => ({
  id,
  seq: 1,
  changed: 1,
  ts: 1,
  kind: "message",
  from: "coordinator",
  to: ["human"],
  content: "Go on.",
  about: [],
  run: null,
  in_reply_to: null,
  question_id: null,
  answer: null,
  is_interrupted: false,
  number: null,
  call: null,
  event: null,
  ...more,
});

test("equal texts are shown once each, by their ids", () => {
  const entries = [
    entry("1", {}),
    entry("2", {}),
    entry("3", { to: ["ada"] }),
    entry("4", { kind: "said", to: [] }),
  ];
  const shown = entries.map(itemOf).map((item) => [item.key, item.is]);
  expect(shown).toEqual([["1", "message"], ["2", "message"], ["3", "heard"], ["4", "thought"]]);
});

test("arguments that are not JSON are shown as the model wrote them", () => {
  const call = {
    step: "1.0", name: "bash", title: "bash", arguments: {}, malformed: '{"command": ',
    outcome: "failed", output: "", characters: 0, exit_code: null, ended_at: 2,
  } as const;
  const item = itemOf(entry("5", { kind: "tool", to: [], call }));
  expect(item.is === "tool" && [subjectOf(item), givenOf(item)[0]?.text]).toEqual(['{"command":', '{"command": ']);
});

test("an entry that has not changed is the same item", () => {
  const one = entry("1", { number: 4 });
  expect(itemOf(one)).toBe(itemOf(one));
  expect(itemOf(one)).toMatchObject({ message: { seq: 4, kind: "text", to: "human" } });
});
