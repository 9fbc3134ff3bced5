// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, test, vi } from "vitest";

import { ofAgent } from "~/api/keys";
import { refresh, type ThreadPage } from "~/api/stretches";
import { useThread } from "./useThread";

afterEach(() => vi.unstubAllGlobals());

const entry = (seq: number, content = `text ${seq}`, changed = seq) => ({
  id: `e${seq}`, seq, changed, ts: seq, kind: "message", from: "coordinator", to: ["human"], content,
});

/** Show a thread of which these are the answers, each by the cursor that asks for it. */
function shown(answers: Record<string, object>) {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const query = new URL(request.url).searchParams;
    const cursor = query.has("after") ? `after ${query.get("after")}` : `before ${query.get("before")}`;
    asked.push(cursor);
    return Response.json(answers[cursor] ?? { entries: [], next: Number(query.get("after")), previous: null });
  });
  const client = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  );
  const hook = renderHook(() => useThread("a-1", "coordinator", true), { wrapper });
  const texts = () => hook.result.current.messages.map((message) => message.content);
  return { asked, client, texts, thread: () => hook.result.current };
}

const NEWEST = `before ${2 ** 53}`;
const page = (next: number, previous: number | null, ...entries: object[]) =>
  ({ entries, next, previous }) as unknown as ThreadPage;

test("a thread without older pages is not fetched again when its start is in sight", async () => {
  const { asked, client, texts, thread } = shown({ [NEWEST]: page(1, null, entry(1)) });
  await waitFor(() => expect(texts()).toEqual(["text 1"]));
  await waitFor(() => expect(asked).toContain("after 1"));
  let fetches = 0;
  client.getQueryCache().subscribe((event) => {
    if (event.type === "updated" && event.action.type === "fetch") fetches++;
  });
  await act(async () => thread().loadOlder());
  expect(fetches).toBe(0);
});

test("older pages are read until one has an entry, and a change is shown in its place", async () => {
  const answers: Record<string, object> = {
    [NEWEST]: page(9, 7),
    "before 7": page(9, 4, entry(5), entry(6)),
    "before 4": page(9, null, entry(2)),
  };
  const { asked, client, texts, thread } = shown(answers);
  await waitFor(() => expect(texts()).toEqual(["text 5", "text 6"]));
  await act(async () => thread().loadOlder());
  await waitFor(() => expect(texts()).toEqual(["text 2", "text 5", "text 6"]));
  expect(thread().hasOlder).toBe(false);
  answers["after 9"] = page(10, 10, entry(10), entry(5, "changed", 10));
  answers["after 10"] = page(12, 11, entry(11));
  await act(() => refresh(client, ofAgent("a-1", "thread")));
  await waitFor(() => expect(texts()).toEqual(["text 2", "changed", "text 6", "text 10", "text 11"]));
  expect(asked.at(-1)).toBe("after 12");
});
