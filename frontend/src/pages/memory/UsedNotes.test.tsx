// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import { MemoryRouter } from "react-router";
import { afterEach, beforeAll, expect, test, vi } from "vitest";

import { startTexts } from "~/text/i18n";
import { UsedNotes } from "./UsedNotes";

beforeAll(startTexts);
afterEach(() => vi.unstubAllGlobals());

const note = (title: string) => ({ id: `c-${title}`, kind: "preference", title, score: 0.5, why: `fits ${title}` });
const used = (run: string, ...titles: string[]) => ({ type: "knowledge.used", run_id: run, data: { cycle: 0, notes: titles.map(note) } });

async function open(...events: object[]): Promise<void> {
  // A page of a long log may be empty although events of this type follow.
  vi.stubGlobal("fetch", async ({ url }: Request) => {
    const after = Number(new URL(url).searchParams.get("after"));
    const page = after === 2000 ? events : [];
    return Response.json({ events: page, next: after < 4000 ? after + 2000 : after, previous: null });
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <MemoryRouter>
        <UsedNotes agent="survey-1a2b" onClose={() => undefined} />
      </MemoryRouter>
    </QueryClientProvider>,
  );
  await screen.findByRole("dialog", { name: "Notes of earlier work" });
}

test("the notes that entered an agent's prompts are listed by run, the last run first", async () => {
  await open(used("run-1", "tea", "coffee"), used("run-2", "milk"));
  const titles = await screen.findAllByRole("link");
  expect(titles.map((one) => one.textContent)).toEqual(["milk", "tea", "coffee"]);
  expect(titles[0]?.getAttribute("href")).toBe("/knowledge/c-milk");
  expect(screen.getAllByRole("heading", { level: 3 }).map((one) => one.textContent)).toEqual(["Run run-2", "Run run-1"]);
  expect(screen.getByText("fits milk")).toBeDefined();
});

test("an agent without such notes says so", async () => {
  await open();
  expect(await screen.findByText("No notes of earlier work were added to its prompts")).toBeDefined();
});
