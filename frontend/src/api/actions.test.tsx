// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, renderHook, waitFor } from "@testing-library/react";
import { type ReactNode, useState } from "react";
import { expect, test, vi } from "vitest";

import { useAction } from "./actions";
import { ApiError } from "./client";

function Provided({ children }: { children: ReactNode }) {
  const [client] = useState(() => new QueryClient());
  return <QueryClientProvider client={client}>{children}</QueryClientProvider>;
}

const action = (call: (input: string, key: string) => Promise<string>) =>
  renderHook(() => useAction(call, () => []), { wrapper: Provided }).result;

test("a second press of the same is the first one, a later one is another", async () => {
  const ends: ((said: string) => void)[] = [];
  const call = vi.fn(() => new Promise<string>((end) => ends.push(end)));
  const hook = action(call);
  act(() => {
    hook.current.act("x");
    hook.current.act("x");
  });
  await waitFor(() => expect(call).toHaveBeenCalledTimes(1));
  await act(async () => ends[0]?.("done"));
  act(() => hook.current.act("x"));
  await waitFor(() => expect(call).toHaveBeenCalledTimes(2));
  const keys = (call.mock.calls as unknown as [string, string][]).map(([, key]) => key);
  expect(new Set(keys).size).toBe(2);
});

test("every attempt of a press has the same key", async () => {
  vi.useFakeTimers();
  const call = vi
    .fn<(input: string, key: string) => Promise<string>>()
    .mockRejectedValueOnce(new ApiError({ status: 503, detail: "away" }))
    .mockResolvedValueOnce("done");
  const hook = action(call);
  await act(async () => {
    const done = hook.current.actAsync("x");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await done).toBe("done");
  });
  vi.useRealTimers();
  expect(call.mock.calls[0]?.[1]).toBe(call.mock.calls[1]?.[1]);
});
