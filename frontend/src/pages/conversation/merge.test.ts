import { describe, expect, test } from "vitest";

import type { ConversationMessage, TranscriptEntry } from "~/api/stretches";
import type { AgentEvent } from "~/live/eventLog";
import type { ToolItem } from "./items";
import { horizonOf, isInTheWay, type Logs, merge } from "./merge";

const message = (seq: number, ts: number, content: string, from = "coordinator"): ConversationMessage => ({
  seq,
  id: `id${seq}`,
  from,
  to: from === "human" ? "coordinator" : "human",
  content,
  ts,
  agent: "a",
  kind: "text",
  question_id: null,
  in_reply_to: null,
  copy_of: null,
});

const entry = (seq: number, ts: number, kind: string, more: object = {}): TranscriptEntry => ({
  seq,
  kind,
  ts,
  role: "",
  from: "",
  content: null,
  tool_calls: [],
  message: null,
  call_id: "",
  name: "",
  is_error: false,
  interrupted: false,
  model: "",
  usage: null,
  arguments: null,
  started_at: null,
  seconds: null,
  exit_code: null,
  ...more,
});

const said = (seq: number, ts: number, content: string, ...calls: [string, string, object?][]) =>
  entry(seq, ts, "said", {
    content,
    tool_calls: calls.map(([id, name, input]) => ({
      id,
      name,
      arguments: { ...input },
      malformed: null,
    })),
  });
const spoken = (seq: number, ts: number, content: string, id: string) =>
  entry(seq, ts, "said", { content, message: id });
const started = (seq: number, ts: number, call_id: string, name = "bash") =>
  entry(seq, ts, "tool.started", { call_id, name });
const finished = (seq: number, ts: number, call_id: string, content: string, more: object = {}) =>
  entry(seq, ts, "tool.finished", { call_id, name: "bash", content, ...more });
const event = (seq: number, ts: number, type: string): AgentEvent => ({
  seq,
  type,
  ts,
  agent_id: "a",
  entity: "coordinator",
  run_id: null,
  node_id: null,
  data: {},
  key: "",
  who: "coordinator",
  text: "",
  detail: "",
  tone: "plain",
  audience: "team",
});

const logs = (more: Partial<Logs>): Logs => ({
  entity: "coordinator",
  messages: [],
  entries: [],
  events: [],
  ...more,
});
const keys = (more: Partial<Logs>, horizon?: number) => merge(logs(more), horizon).map((one) => one.key);
const tools = (entries: TranscriptEntry[]) =>
  merge(logs({ entries })).filter((one): one is ToolItem => one.is === "tool");

describe("one conversation of three logs", () => {
  test("in the order in which things happened", () => {
    const of = {
      messages: [message(1, 1, "hello", "human"), message(2, 9, "bye")],
      entries: [said(5, 3, "hm", ["c1", "bash"])],
      events: [event(7, 2, "stage.started"), event(8, 8, "stage.completed")],
    };
    expect(keys(of)).toEqual(["m:id1", "e:7", "t:coordinator:5", "c:c1", "e:8", "m:id2"]);
  });

  test("an answer that was passed on is shown once, as the message that it became", () => {
    const messages = [message(1, 2.1, "Yes."), message(2, 5.2, "Yes.")];
    const entries = [spoken(1, 2, "Yes. ", "id1"), spoken(2, 5, "Yes.", "id2")];
    expect(keys({ messages, entries })).toEqual(["m:id1", "m:id2"]);
    expect(keys({ messages: messages.slice(0, 1), entries })).toEqual(["m:id1", "t:coordinator:2"]);
    expect(keys({ messages: [], entries: entries.slice(0, 1) })).toEqual(["t:coordinator:1"]);
  });

  test("an answer and another message of the same words are both shown, whatever their times", () => {
    for (const at of [2, 50]) {
      const entries = [spoken(1, at, "Yes.", "another")];
      expect(keys({ messages: [message(1, 2, "Yes.")], entries })).toHaveLength(2);
    }
  });

  test("what the person wrote is there once, though the entity heard it", () => {
    const heard = entry(3, 4, "heard", { from: "human", content: "[Message from human]: hello" });
    expect(keys({ messages: [message(1, 3, "hello", "human")], entries: [heard] })).toEqual(["m:id1"]);
  });

  test("a message of another entity is shown without how the model reads it", () => {
    const content = '[Message from ada]: (replying to your "What?") It is done';
    const [one] = merge(logs({ entries: [entry(3, 4, "heard", { from: "ada", content })] }));
    expect(one).toMatchObject({ is: "heard", from: "ada", text: "It is done" });
  });

  test("questions, messages and results are shown as such and not as calls, unless they fail", () => {
    const entries = [
      said(1, 1, "", ["c1", "send_message", { to: "human" }], ["c2", "ask_human"], ["c3", "finish"]),
      said(2, 2, "", ["c4", "send_message", { to: "ada" }], ["c5", "finish"]),
      finished(3, 3, "c5", "no", { is_error: true }),
    ];
    expect(tools(entries).map((one) => one.key)).toEqual(["c:c4", "c:c5"]);
  });
});

describe("a call", () => {
  const all = [said(1, 1, "", ["c1", "bash", { command: "ls" }]), started(2, 2, "c1"), finished(3, 5, "c1", "x", { exit_code: 3, started_at: 2 })];

  test("is one item from its beginning to its end", () => {
    expect(tools(all)).toMatchObject([
      { name: "bash", input: { command: "ls" }, outcome: "failed", exitCode: 3, startedAt: 2, endedAt: 5 },
    ]);
    expect(tools(all.slice(0, 1))[0]?.outcome).toBe("waiting");
    expect(tools(all.slice(0, 2))[0]?.outcome).toBe("running");
    expect(tools([finished(3, 5, "c1", "fine", { exit_code: 0 })])[0]?.outcome).toBe("done");
  });

  test("of which only the end is on the page that was read keeps its place and its key", () => {
    expect(tools(all.slice(2))).toMatchObject([{ key: "c:c1", output: "x", startedAt: 2 }]);
  });
});

describe("pages", () => {
  const messages = Array.from({ length: 40 }, (_, n) => message(n + 1, n * 10, `m${n}`, "human"));
  const entries = Array.from({ length: 40 }, (_, n) => said(n + 1, n * 10 + 3, `t${n}`));
  const events = Array.from({ length: 40 }, (_, n) => event(n + 1, n * 10 + 5, "node.created"));
  const whole = keys({ messages, entries, events });

  test("what has been read of all logs is shown, and nothing with gaps", () => {
    const reaches = [
      { first: 200, hasOlder: true },
      { first: 303, hasOlder: true },
      { first: undefined, hasOlder: false },
    ];
    const horizon = horizonOf(reaches);
    expect(horizon).toBe(303);
    expect(reaches.map((reach) => isInTheWay(reach, horizon))).toEqual([false, true, false]);
    expect(horizonOf([{ first: undefined, hasOlder: true }])).toBe(Infinity);
    expect(horizonOf([{ first: 5, hasOlder: false }])).toBe(-Infinity);
  });

  test("every stretch that is shown is a stretch of the whole, without double or gap", () => {
    for (const [m, t, e] of [[10, 20, 30], [35, 2, 0], [0, 0, 0], [39, 39, 39]] as const) {
      const known = { messages: messages.slice(m), entries: entries.slice(t), events: events.slice(e) };
      const horizon = horizonOf([
        { first: known.messages[0]?.ts, hasOlder: m > 0 },
        { first: known.entries[0]?.ts, hasOlder: t > 0 },
        { first: known.events[0]?.ts, hasOlder: e > 0 },
      ]);
      const shown = keys(known, horizon);
      expect(shown).toEqual(whole.slice(whole.length - shown.length));
      expect(new Set(shown).size).toBe(shown.length);
    }
  });

  test("what is shown stays in its order as more comes at the end, whatever the clocks say", () => {
    const late = [...messages, message(41, 5, "a clock that was set back", "human")];
    const before = keys({ messages, entries, events });
    const after = keys({ messages: late, entries, events });
    expect(after.filter((key) => key !== "m:id41")).toEqual(before);
    expect(after.indexOf("m:id41")).toBeGreaterThan(after.indexOf("m:id40"));
  });

  test("what comes twice is shown once", () => {
    expect(keys({ messages: [...messages, ...messages] })).toHaveLength(messages.length);
  });
});
