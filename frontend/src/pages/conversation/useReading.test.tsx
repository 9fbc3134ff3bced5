// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, test, vi } from "vitest";

import { ofHome } from "~/api/keys";
import type { Message } from "./items";
import { useReading } from "./useReading";

afterEach(() => vi.unstubAllGlobals());

const INBOX = {
  agent: "a-1",
  agent_name: "a",
  read_to: 3,
  read_with: { ada: 5 },
  unread: 4,
  by_entity: { ada: 1, bob: 2, supervisor: 1 },
};
const TEAM = [{ name: "ada" }, { name: "bob" }];

async function readBy(entity: string, messages: readonly Partial<Message>[]) {
  const read: unknown[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    if (request.method === "POST") read.push(await request.json());
    return Response.json(request.url.includes("/workers") ? TEAM : request.method === "POST" ? INBOX : [INBOX]);
  });
  const client = new QueryClient();
  client.setQueryData(ofHome("whoami"), { name: "home", scope: "talk" });
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  );
  const { result } = renderHook(() => useReading("a-1", entity, messages as Message[], true), {
    wrapper,
  });
  await waitFor(() => expect(read).not.toEqual([]));
  return { read, readTo: result.current };
}

test("what is seen of one conversation is read, and no other", async () => {
  const messages = [{ seq: 7, from: "ada" }, { seq: 8, from: "human" }];
  expect(await readBy("ada", messages)).toEqual({ read: [{ entity: "ada", seq: 7 }], readTo: 5 });
});

test("the coordinator's takes along what has no conversation of its own", async () => {
  expect(await readBy("coordinator", [])).toEqual({ read: [{ entity: "supervisor" }], readTo: 3 });
});
