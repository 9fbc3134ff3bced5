// @vitest-environment jsdom
import { describe, expect, test, vi } from "vitest";

import { ApiError, type Schemas } from "~/api/client";
import { runOf, withoutAttached } from "./attached";
import { dayName } from "./days";
import type { Item } from "./items";
import { addressed, completed, completionsOf, mentionAt, receiverOf } from "./mention";
import { Outbox } from "./outbox";
import { countAfter, readWith, rowsOf } from "./rows";
import { placesOf, stepTo, wordsOf } from "./search";
import { outputOf, subjectOf } from "./toolText";

const text = (seq: number, at: number, content: string, from = "ada"): Item => ({
  is: "message",
  key: `m:${seq}`,
  at,
  message: {
    seq, at, id: `${seq}`, from, to: "human", content, ts: at, agent: "a", kind: "text",
    question_id: null, in_reply_to: null,
  } as Extract<Item, { is: "message" }>["message"],
  answer: null,
});

describe("rows", () => {
  test("the author is named anew after another one, a while, and a day", () => {
    const day = 86_400;
    const rows = rowsOf(
      [text(1, 0, "a"), text(2, 10, "b"), text(3, 20, "c", "bob"), text(4, 900, "d", "bob"), text(5, day * 2, "e", "bob")],
      9,
    );
    expect(rows.map((row) => row.isFirst)).toEqual([true, false, true, true, true]);
    expect(rows.map((row) => row.isNewDay)).toEqual([true, false, false, false, true]);
  });

  test("the mark stands before the first that was not read, which is nobody's own", () => {
    const rows = rowsOf([text(1, 0, "a"), text(2, 1, "b", "human"), text(3, 2, "c"), text(4, 3, "d")], 1);
    expect(rows.map((row) => row.isFirstUnread)).toEqual([false, false, true, false]);
    expect(countAfter(rows, "m:2")).toBe(2);
    expect(countAfter(rows, "m:4")).toBe(0);
  });

  test("a message names what it answers, unless that is the last before it", () => {
    const answers = (item: Item, to: string): Item =>
      item.is === "message" ? { ...item, message: { ...item.message, in_reply_to: to } } : item;
    const rows = rowsOf(
      [text(1, 0, "a"), text(2, 1, "b"), answers(text(3, 2, "c", "human"), "2"), answers(text(4, 3, "d"), "1")],
      9,
    );
    expect(rows.map((row) => row.quoted?.id ?? null)).toEqual([null, null, null, "1"]);
  });

  test("each conversation is read by itself, with the coordinator's what has no other", () => {
    const unread = { ada: 1, coordinator: 2, supervisor: 1 };
    expect(readWith("ada", unread, ["ada", "bob"])).toEqual(["ada"]);
    expect(readWith("bob", unread, ["ada", "bob"])).toEqual([]);
    expect(readWith("coordinator", unread, ["ada", "bob"])).toEqual(["coordinator", "supervisor"]);
  });
});

describe("names", () => {
  const names = ["coordinator", "ada", "adam", "bob"];

  test("are completed where one is being written", () => {
    expect(mentionAt("hello @a", 8)).toEqual({ start: 6, query: "a" });
    expect(mentionAt("mail a@b", 8)).toBeNull();
    expect(completionsOf("ad", names)).toEqual(["ada", "adam"]);
    expect(completionsOf("", names)).toEqual([...names, "*"]);
    expect(completed("hi @a there", { start: 3, query: "a" }, "ada")).toEqual(["hi @ada there", 8]);
  });

  test("at the beginning say whom a text is for", () => {
    expect(addressed("@Ada look", names, "bob")).toEqual({ to: "ada", text: "look" });
    expect(addressed("@* look", names, "bob")).toEqual({ to: "*", text: "look" });
    expect(addressed("@nobody look", names, "bob")).toEqual({ to: "bob", text: "@nobody look" });
    expect(addressed("@ada", names, "bob")).toEqual({ to: "bob", text: "@ada" });
    expect(receiverOf("@ada ", names, "bob")).toBe("ada");
  });
});

describe("searching", () => {
  test("goes from hit to hit, and marks the words", () => {
    const hits = ["m:1", "m:2"];
    expect(stepTo(hits, "m:2", -1)).toBe("m:1");
    expect(stepTo(hits, "m:1", -1)).toBe("m:1");
    expect(stepTo(hits, null, -1)).toBe("m:2");
    expect(stepTo([], null, 1)).toBeNull();
    expect(placesOf("Red, rED", wordsOf(" red "))).toEqual([
      [0, 3],
      [5, 8],
    ]);
  });
});

describe("texts", () => {
  test("files that a message names are read back", () => {
    const content = "Look\n\nAttached: _attachments/a b.csv (12 bytes), _attachments/c.md (3 bytes)";
    expect(withoutAttached(content)).toEqual({
      text: "Look",
      files: [
        { path: "_attachments/a b.csv", name: "a b.csv", bytes: 12 },
        { path: "_attachments/c.md", name: "c.md", bytes: 3 },
      ],
    });
    expect(withoutAttached("Attached: nothing").files).toEqual([]);
  });

  test("what is attached lies in the run in which the message was written", () => {
    const runs = [
      { id: "r2", started_at: 20 },
      { id: "r1", started_at: 10 },
    ];
    expect([5, 15, 20, 99].map((at) => runOf(runs, at))).toEqual(["", "?run=r1", "", ""]);
    expect(runOf([], 5)).toBe("");
  });

  test("a call in one line", () => {
    expect(subjectOf({ input: { path: "a.md", content: "x" }, malformed: null })).toBe("a.md");
    expect(subjectOf({ input: { command: "a\n  b" }, malformed: null })).toBe("a ⏎ b");
    expect(subjectOf({ input: { size: 3 }, malformed: null })).toBe("size=3");
    expect(outputOf('{"a":1}').language).toBe("json");
    expect(outputOf("{x\n[exit code 0]")).toEqual({ text: "{x", language: "" });
  });

  test("days", () => {
    const now = Date.UTC(2026, 10, 23, 12) / 1000;
    expect(dayName(now, now, "en")).toBe("Today");
    expect(dayName(now - 86_400, now, "en")).toBe("Yesterday");
    expect(dayName(now - 86_400 * 400, now, "en")).toContain("2025");
  });
});

describe("what is sent", () => {
  const body = { message: "x" } as Schemas["SendTextRequest"];
  const refused = (status: number) => new ApiError({ status, detail: "no" });

  test("is tried under one key until it is accepted, one after the other", async () => {
    const seen: string[] = [];
    let failures = 2;
    const outbox = new Outbox(
      async (_agent, { message }, key) => {
        seen.push(`${message} ${key}`);
        if (failures-- > 0) throw refused(503);
        return { id: `id of ${message}`, to: [], ts: 0 };
      },
      async () => undefined,
    );
    await Promise.all([
      outbox.add("a", "ada", { ...body, message: "one" }),
      outbox.add("a", "ada", { ...body, message: "two" }),
    ]);
    expect(seen.map((one) => one.split(" ")[0])).toEqual(["one", "one", "one", "two"]);
    expect(new Set(seen.slice(0, 3)).size).toBe(1);
    expect(outbox.get().map((one) => one.id)).toEqual(["id of one", "id of two"]);
  });

  test("that is refused can be tried again under its key, or dropped", async () => {
    const call = vi.fn().mockRejectedValueOnce(refused(409)).mockResolvedValue({ id: "1" });
    const outbox = new Outbox(call, async () => undefined);
    await outbox.add("a", "ada", body);
    const [failed] = outbox.get();
    expect(failed).toMatchObject({ state: "failed", error: "no" });
    outbox.retry(failed?.key ?? "");
    await vi.waitFor(() => expect(outbox.get()[0]?.state).toBe("sent"));
    expect(call.mock.calls[1]?.[2]).toBe(call.mock.calls[0]?.[2]);
    outbox.drop(failed?.key ?? "");
    expect(outbox.get()).toEqual([]);
  });
});
