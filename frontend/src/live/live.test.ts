import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { QueryKey } from "~/api/keys";
import { Batch } from "./batch";
import { type Change, concernOf, keysOf, keysOfChange } from "./concerns";
import { connectionOf } from "./connection";
import { type AgentEvent, withEvents } from "./eventLog";
import { Refresher } from "./refresher";
import { NO_STREAMS, type StreamedPiece, withoutEnded, withPieces } from "./streamed";

const event = (seq: number): AgentEvent => ({
  seq,
  type: "node.started",
  agent_id: "a",
  ts: seq,
  entity: "",
  run_id: null,
  node_id: null,
  data: {},
  key: "",
  who: "",
  text: "",
  detail: "",
  tone: "plain",
  audience: "team",
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("an event makes old what it is about, each once", () => {
  const keys = keysOf("a", ["node.started", "node.completed"]);
  expect(keys).toContainEqual(["agent", "a", "board"]);
  expect(keys).toContainEqual(["home", "agents"]);
  expect(new Set(keys.map((key) => JSON.stringify(key))).size).toBe(keys.length);
  expect(concernOf("newer.kind").agent).toContain("view");
  expect(concernOf("human.budget").home).toContain("budgets");
});

test("after a break only what has changed meanwhile is asked for again", () => {
  const home: Change = { kind: "home", agents: { a: 5, b: 9 }, messages: 0, unread: {}, questions: [] };
  expect(keysOfChange(home, null)).toEqual([]);
  const keys = keysOfChange(home, new Map([["a", 5], ["b", 7]]));
  expect(keys).toEqual([["agent", "b"], ["home"]]);
});

test("agents that came while a page without any was away are asked for", () => {
  const home: Change = { kind: "home", agents: { a: 5 }, messages: 0, unread: {}, questions: [] };
  expect(keysOfChange(home, new Map())).toEqual([["agent", "a"], ["home"]]);
});

test("a kind of change of a newer Agiraph means nothing here", () => {
  expect(keysOfChange({ kind: "newer" } as unknown as Change, new Map())).toEqual([]);
});

test("events that come again are there once", () => {
  const known = withEvents([], [event(1), event(2)]);
  expect(withEvents(known, [event(1), event(2)])).toBe(known);
  expect(withEvents(known, [event(2), event(3)]).map((one) => one.seq)).toEqual([1, 2, 3]);
  expect(withEvents(known, [event(3), event(4)], 2).map((one) => one.seq)).toEqual([3, 4]);
});

test("what changes often is asked for at once, and then as often as the answers are cheap", async () => {
  const asked: [number, string][] = [];
  const start = Date.now();
  const took: Record<string, number> = { board: 10, workers: 100, usage: 100 };
  const refresher = new Refresher(([, , thing]) => {
    asked.push([Date.now() - start, String(thing)]);
    return new Promise((done) => void setTimeout(done, took[String(thing)]));
  });
  for (let count = 0; count < 120; count++) {
    refresher.add([["agent", "a", "board"], ["agent", "a", "workers"], ["agent", "a", "usage"]]);
    await vi.advanceTimersByTimeAsync(10);
  }
  await vi.advanceTimersByTimeAsync(3000);
  const times = (wanted: string) => asked.filter(([, thing]) => thing === wanted).map(([time]) => time);
  expect(times("board")).toEqual(Array.from({ length: 19 }, (_, place) => 70 * place));
  expect(times("workers")).toEqual([0, 600, 1200]);
  expect(times("usage")).toEqual([0, 1100, 2200]);
});

test("what could not be had is asked for again", async () => {
  const asked: QueryKey[] = [];
  const refresher = new Refresher((key) => {
    asked.push(key);
    return Promise.reject(new Error("the gateway is away"));
  });
  refresher.add([["agent", "a", "board"]]);
  await vi.advanceTimersByTimeAsync(1000);
  refresher.add([["agent", "a", "board"]]);
  expect(asked).toHaveLength(2);
});

test("what is to be asked for is forgotten when the page is left", async () => {
  const asked: QueryKey[] = [];
  const refresher = new Refresher((key) => Promise.resolve(asked.push(key)));
  refresher.add([["home", "overview"]]);
  refresher.add([["home", "overview"]]);
  refresher.stop();
  await vi.advanceTimersByTimeAsync(3000);
  expect(asked).toHaveLength(1);
  refresher.add([["home", "overview"]]);
  expect(asked).toHaveLength(2);
});

test("what comes alone is handed on soon, what comes all the time in batches", () => {
  const took: number[][] = [];
  const batch = new Batch<number>((items) => took.push(items), 100);
  batch.add(1);
  vi.advanceTimersByTime(20);
  expect(took).toEqual([[1]]);
  for (let item = 2; item <= 21; item++) {
    batch.add(item);
    vi.advanceTimersByTime(10);
  }
  expect(took).toHaveLength(3);
  vi.advanceTimersByTime(100);
  expect(took.flat()).toEqual(Array.from({ length: 21 }, (_, place) => place + 1));
});

const piece = (at: number, text: string, more: Partial<StreamedPiece> = {}): StreamedPiece => ({
  address: "a/x",
  entity: "ada",
  call: "c1",
  at,
  text,
  restarted: false,
  is_end: false,
  reason: "",
  ...more,
});

test("pieces of a text become the text, each once", () => {
  const streams = withPieces(NO_STREAMS, [piece(0, "He"), piece(2, "llo"), piece(2, "llo"), piece(4, "o!")]);
  expect(withPieces(streams, [piece(0, "Hello!!")]).get("ada")?.text).toBe("Hello!!");
  expect(streams.get("ada")).toMatchObject({ text: "Hello!", hasGap: false });
});

test("a lost piece is seen as a gap, a new call begins anew", () => {
  const streams = withPieces(NO_STREAMS, [piece(0, "ab"), piece(9, "xy")]);
  expect(streams.get("ada")).toMatchObject({ hasGap: true, length: 11 });
  const next = withPieces(streams, [piece(0, "Z", { call: "c2" })]);
  expect(next.get("ada")).toMatchObject({ text: "Z", hasGap: false });
  const again = withPieces(next, [piece(0, "", { call: "c2", restarted: true })]);
  expect(again.get("ada")?.text).toBe("");
});

test("positions count characters, not the halves of an emoji", () => {
  const streams = withPieces(NO_STREAMS, [piece(0, "a😀"), piece(2, "b")]);
  expect(streams.get("ada")).toMatchObject({ text: "a😀b", hasGap: false, length: 3 });
});

test("a text that has ended goes once its answer is there", () => {
  const streams = withPieces(NO_STREAMS, [piece(0, "a", { is_end: true })]);
  expect(withoutEnded(streams).size).toBe(0);
});

test("the page stands as its worst link does", () => {
  const open = { phase: "open", failures: 0 } as const;
  expect(connectionOf([])).toBe("connecting");
  expect(connectionOf([open])).toBe("live");
  expect(connectionOf([open, { phase: "waiting", failures: 1 }])).toBe("reconnecting");
  expect(connectionOf([open, { phase: "connecting", failures: 2 }])).toBe("reconnecting");
  expect(connectionOf([open, { phase: "refused" }])).toBe("loggedOut");
});
