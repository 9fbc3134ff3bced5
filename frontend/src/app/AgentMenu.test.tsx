// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { MemoryRouter } from "react-router";
import { beforeAll, beforeEach, expect, test, vi } from "vitest";

import { ofHome } from "~/api/keys";
import { startTexts } from "~/text/i18n";
import { AgentMenu } from "./AgentMenu";

beforeAll(startTexts);

const calls: string[] = [];
beforeEach(() => {
  calls.length = 0;
  vi.stubGlobal("fetch", async (request: Request) => {
    calls.push(`${request.method} ${new URL(request.url).pathname}${new URL(request.url).search}`);
    return Response.json({ id: "survey-1a2b", name: "survey", freed_bytes: 2000, taught: 0, forgotten: 3 });
  });
});

const agent = { id: "survey-1a2b", name: "survey", status: "working", run: "20260101-120000-abcdef" };

async function open(scope: "read" | "control"): Promise<string[]> {
  const client = new QueryClient();
  client.setQueryData(ofHome("whoami"), { name: "home", scope, login: "s" });
  render(
    <QueryClientProvider client={client}>
      <MemoryRouter>
        <AgentMenu agent={agent} label="Actions" />
      </MemoryRouter>
    </QueryClientProvider>,
  );
  await userEvent.click(screen.getByRole("button", { name: "Actions" }));
  return screen.getAllByRole("menuitem").map((item) => item.textContent ?? "");
}

test("a browser that may only read can save what an agent made, and do nothing to it", async () => {
  expect(await open("read")).toEqual(["Save the result (zip)", "Plan of this run", "Save the transcript"]);
});

test("an agent is stopped, archived and deleted once the person has agreed", async () => {
  expect(await open("control")).toContain("Delete");
  await userEvent.click(screen.getByRole("menuitem", { name: "Delete" }));
  const dialog = screen.getByRole("dialog", { name: "Delete survey permanently?" });
  expect(dialog.textContent).toContain("survey-1a2b");
  expect(dialog.textContent).toContain("It is still working");
  expect(calls).toEqual([]);
  await userEvent.click(screen.getByRole("checkbox", { name: /remove its notes/ }));
  await userEvent.click(screen.getByRole("button", { name: "Delete" }));
  await waitFor(() => expect(calls).toHaveLength(2));
  expect(calls).toEqual(["POST /agents/survey-1a2b/archive", "DELETE /archive/survey-1a2b?forget=true"]);
});
