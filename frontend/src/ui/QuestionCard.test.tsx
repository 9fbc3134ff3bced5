// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, fireEvent, render, screen } from "@testing-library/react";
import { MemoryRouter } from "react-router";
import { afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";

import { ofHome } from "~/api/keys";
import { startTexts } from "~/text/i18n";
import { Keys } from "./keys";
import type { Question } from "./question";
import { QuestionCard, SETTLE_MILLISECONDS } from "./QuestionCard";

let answers: unknown[] = [];

beforeAll(startTexts);
beforeEach(() => {
  answers = [];
  vi.useFakeTimers();
  vi.stubGlobal("fetch", async (request: Request) => {
    if (request.method === "POST") answers.push([new URL(request.url).pathname, await request.json()]);
    return Response.json({});
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const question = (id: string) =>
  ({
    id, agent: "a-1", agent_name: "asked", from: "quin", kind: "approval", question: "May I?",
    options: ["allow once", "deny"], asked_at: 0, deadline_at: null, urgency: "normal",
  }) as unknown as Question;

function page(id: string, hasKeys: boolean, scope = "control") {
  const client = new QueryClient();
  client.setQueryData(ofHome("whoami"), { name: "home", scope });
  return (
    <QueryClientProvider client={client}>
      <MemoryRouter>
        <Keys />
        <QuestionCard key={id} question={question(id)} hasKeys={hasKeys} />
      </MemoryRouter>
    </QueryClientProvider>
  );
}
const wait = () => act(() => vi.advanceTimersByTimeAsync(2 * SETTLE_MILLISECONDS));

test("a card takes keys once it has been shown for a moment", async () => {
  render(page("one", true));
  fireEvent.keyDown(document.body, { key: "1" });
  fireEvent.click(screen.getByRole("button", { name: /allow once/ }));
  await act(() => vi.advanceTimersByTimeAsync(0));
  expect(answers).toEqual([]);
  await wait();
  // On a busy machine the card may be drawn again only a moment after its timer.
  await vi.waitFor(() => {
    fireEvent.keyDown(document.body, { key: "1" });
    expect(answers).toEqual([["/questions/one/respond", { answer: "allow once", via: "web" }]]);
  });
});

test("a card that took the place of another takes no keys", async () => {
  const { rerender } = render(page("one", true));
  await wait();
  rerender(page("two", false));
  await wait();
  fireEvent.keyDown(document.body, { key: "1" });
  await act(() => vi.advanceTimersByTimeAsync(0));
  expect(answers).toEqual([]);
});

test.each(["read", "talk"])("a browser that may only %s has no way to answer an approval", (scope) => {
  render(page("one", true, scope));
  expect(screen.getByText(/may not answer: the scope “control” is needed/)).toBeTruthy();
  expect(screen.queryByRole("button", { name: /allow once/ })).toBeNull();
});
