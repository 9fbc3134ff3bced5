// @vitest-environment jsdom
import { expect, test, vi } from "vitest";

import { ApiError, escapePath, keyed, makeClient, newKey, take } from "./client";
import { entriesOf, type ThreadEntry, type ThreadPage, withNewer } from "./stretches";

const answer = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", ...headers },
  });

async function refusal(call: Promise<unknown>): Promise<ApiError> {
  const error = await call.then(() => null, (reason: unknown) => reason);
  if (!(error instanceof ApiError)) throw new Error("not refused");
  return error;
}

test("a refusal is told in the words of the gateway, field by field", async () => {
  const problem = {
    type: "urn:x",
    title: "Unprocessable",
    status: 422,
    detail: "goal: is empty",
    instance: "/agents",
    errors: [{ field: "goal", detail: "is empty" }],
  };
  const api = makeClient(() => Promise.resolve(answer(422, problem)));
  const error = await refusal(take(api.POST("/agents", { body: { goal: "" } })));
  expect(error.message).toBe("goal: is empty");
  expect(error.ofField("goal")).toBe("is empty");
  expect(error.isPassing).toBe(false);
});

test("a gateway that is away, or busy, may be asked again", async () => {
  const away = makeClient(() => Promise.reject(new TypeError("no")));
  expect((await refusal(take(away.GET("/agents")))).isPassing).toBe(true);
  const busy = makeClient(() => Promise.resolve(answer(429, {}, { "retry-after": "3" })));
  const error = await refusal(take(busy.GET("/agents")));
  expect([error.isPassing, error.retryAfterSeconds]).toEqual([true, 3]);
});

test("names are escaped in a path, the slashes of an address are kept", async () => {
  const seen = vi.fn((request: RequestInfo | URL) => {
    expect((request as Request).headers.get("idempotency-key")).toBe("k1");
    return Promise.resolve(answer(200, {}));
  });
  const api = makeClient(seen);
  const path = { entity: "survey/a b?", act: "stop" } as const;
  await take(api.POST("/entities/{entity}/{act}", { params: { path, header: keyed("k1") } }));
  const [request] = seen.mock.calls[0] ?? [];
  expect(new URL((request as Request).url).pathname).toBe("/entities/survey/a%20b%3F/stop");
  expect(escapePath("a/b#c")).toBe("a/b%23c");
});

test("each action has a key of its own", () => {
  expect(newKey()).toMatch(/^[0-9a-f]{32}$/);
  expect(newKey()).not.toBe(newKey());
});

test("an entry that is on two pages is shown once, with its place and its later state", () => {
  const state = (seq: number, outcome: string, given: object | null) =>
    ({ id: "c", seq, ts: seq, call: { outcome, arguments: given } }) as ThreadEntry;
  const page = (entry: ThreadEntry): ThreadPage => ({ entries: [entry], next: 9, previous: null });
  const [only, ...others] = entriesOf([page(state(1, "running", { a: 1 })), page(state(8, "done", null))]);
  expect(only).toMatchObject({ seq: 1, ts: 1, call: { outcome: "done", arguments: { a: 1 } } });
  expect(others).toEqual([]);
});

test("an entry that has changed replaces the one with its id, a new one stands at its place", () => {
  const entry = (seq: number, content = "") => ({ id: `e${seq}`, seq, content }) as ThreadEntry;
  const page = (next: number, ...entries: ThreadEntry[]): ThreadPage => ({ entries, next, previous: null });
  const known = {
    pages: [page(2, entry(1), entry(2)), page(4, entry(4))],
    pageParams: [{ before: 3 }, { before: 9 }],
  };
  const newer = page(7, entry(2, "done"), entry(6), entry(3));
  const all = withNewer(withNewer(known, newer), newer);
  const entries = all.pages.flatMap((one) => one.entries);
  expect(entries.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 6]);
  expect(entries[1]?.content).toBe("done");
  expect(all.pages.at(-1)?.next).toBe(7);
});
