// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, fireEvent, render, screen } from "@testing-library/react";
import { MemoryRouter } from "react-router";
import { afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";

import { startTexts } from "~/text/i18n";
import { Keys } from "./keys";
import type { Question } from "./question";
import { QuestionCard, SETTLE_MILLISECONDS } from "./QuestionCard";

const act1 = vi.fn<(body: unknown) => void>();
vi.mock("./Markdown", () => ({ Markdown: () => null, Code: () => null })); // fetched later: it suspends
vi.mock("~/api/actions", () => ({ useAnswer: () => ({ act: act1, isPending: false }) }));

beforeAll(startTexts);
beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  act1.mockClear();
});

const question = (id: string) =>
  ({
    id, agent: "a-1", agent_name: "asked", from: "quin", kind: "approval", question: "May I?",
    options: ["allow once", "deny"], asked_at: 0, deadline_at: null, urgency: "normal",
  }) as unknown as Question;

const page = (id: string, hasKeys: boolean) => (
  <QueryClientProvider client={new QueryClient()}>
    <MemoryRouter>
      <Keys />
      <QuestionCard key={id} question={question(id)} hasKeys={hasKeys} />
    </MemoryRouter>
  </QueryClientProvider>
);
const wait = () => act(() => vi.advanceTimersByTimeAsync(2 * SETTLE_MILLISECONDS));

test("a card takes keys once it has been shown for a moment", async () => {
  render(page("one", true));
  fireEvent.keyDown(document.body, { key: "1" });
  fireEvent.click(screen.getByRole("button", { name: /allow once/ }));
  expect(act1).not.toHaveBeenCalled();
  await wait();
  // On a busy machine the card may be drawn again only a moment after its timer.
  await vi.waitFor(() => {
    fireEvent.keyDown(document.body, { key: "1" });
    expect(act1).toHaveBeenCalledWith({ id: "one", answer: "allow once" });
  });
});

test("a card that took the place of another takes no keys", async () => {
  const { rerender } = render(page("one", true));
  await wait();
  rerender(page("two", false));
  await wait();
  fireEvent.keyDown(document.body, { key: "1" });
  expect(act1).not.toHaveBeenCalled();
});
