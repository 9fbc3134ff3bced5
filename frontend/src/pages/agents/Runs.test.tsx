// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { MemoryRouter } from "react-router";
import { afterEach, beforeAll, expect, test, vi } from "vitest";

import { startTexts } from "~/text/i18n";
import { Runs } from "./Runs";

beforeAll(startTexts);
afterEach(() => vi.unstubAllGlobals());

const RUN = {
  id: "r1", agent: "survey-1a2b", agent_name: "survey", goal: "Count the tables", status: "failed",
  failure_class: "checks", incomplete: [], started_at: 100, ended_at: 165, is_current: false,
  snippet: "1 of 2 checks failed", cost_usd: 1.5, tokens: 1200, is_estimate: false,
};

test("runs are searched by words, status and order, each with what it cost and why it failed", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    asked.push(new URL(request.url).search);
    return Response.json({ runs: [RUN], total: 70 });
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <MemoryRouter>
        <Runs words="checks" />
      </MemoryRouter>
    </QueryClientProvider>,
  );
  const row = await screen.findByRole("listitem");
  for (const part of ["survey", "checks failed", "Count the tables", "1 of 2 checks failed", "1 min 5 s", "$1.50", "1,200 tokens"]) {
    expect(row.textContent).toContain(part);
  }
  expect(screen.getByRole("link", { name: "survey" }).getAttribute("href")).toBe("/agents/survey-1a2b/result?run=r1");
  expect(screen.getByRole("status").textContent).toBe("70 runs");
  expect(asked[0]).toBe("?q=checks&order=newest&limit=50");
  await userEvent.click(screen.getByRole("button", { name: "Show more" }));
  await waitFor(() => expect(asked[1]).toBe("?q=checks&order=newest&limit=200"));
});
