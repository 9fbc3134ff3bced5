// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { MemoryRouter } from "react-router";
import { afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";

import { ofHome } from "~/api/keys";
import { startTexts } from "~/text/i18n";
import { Upkeep } from "./Upkeep";

beforeAll(startTexts);
afterEach(() => vi.unstubAllGlobals());

let calls: unknown[] = [];
beforeEach(() => {
  calls = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const body = (await request.json()) as { dry_run?: boolean };
    calls.push([new URL(request.url).pathname, body]);
    const examples = [{ id: "c-1", kind: "task", title: "An old task" }];
    if (new URL(request.url).pathname === "/knowledge") return Response.json({ node: { id: "c-1", title: "Short" }, neighbors: [] });
    return Response.json({ nodes_pruned: 2, examples, by_kind: {}, is_dry_run: body.dry_run ?? false, project_id: "shop", files: 7, new: 3, changed: 0, gone: 0 });
  });
});

async function open(scope: string): Promise<(string | null)[]> {
  const client = new QueryClient();
  client.setQueryData(ofHome("whoami"), { name: "home", scope });
  render(
    <QueryClientProvider client={client}>
      <MemoryRouter>
        <Upkeep kind="" />
      </MemoryRouter>
    </QueryClientProvider>,
  );
  await userEvent.click(screen.getByRole("button", { name: /Actions for/ }));
  return screen.getAllByRole("menuitem").map((item) => item.textContent);
}

test("a browser that may only read can export what was learned", async () => {
  expect(await open("read")).toEqual(["Export all (JSON lines)", "Export all for Obsidian (zip)"]);
  expect(screen.queryByRole("button", { name: "Add a node" })).toBeNull();
});

test("old nodes are shown before they are removed", async () => {
  await open("control");
  await userEvent.click(screen.getByRole("menuitem", { name: "Remove old nodes" }));
  expect(screen.queryByRole("button", { name: /for good/ })).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Show these nodes" }));
  await screen.findByText("Task: An old task");
  await userEvent.click(screen.getByRole("button", { name: "Remove 2 nodes permanently" }));
  await waitFor(() => expect(calls).toHaveLength(2));
  const body = { older_than_seconds: 15_552_000, below: 0.3, keep: ["preference", "project"] };
  expect(calls).toEqual([
    ["/knowledge/prune", { ...body, dry_run: true }],
    ["/knowledge/prune", { ...body, dry_run: false }],
  ]);
});

test("a project's folder is scanned", async () => {
  await open("control");
  await userEvent.click(screen.getByRole("menuitem", { name: "Scan a project" }));
  await userEvent.type(screen.getByLabelText("Folder"), "/src/shop");
  await userEvent.click(screen.getByRole("button", { name: "Scan" }));
  await waitFor(() => expect(calls).toEqual([["/knowledge/scan", { path: "/src/shop" }]]));
});

test("a person adds a node", async () => {
  await open("control");
  await userEvent.keyboard("{Escape}");
  await userEvent.click(screen.getByRole("button", { name: "Add a node" }));
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Add" }).disabled).toBe(true);
  await userEvent.selectOptions(screen.getByLabelText("Kind"), "Decision");
  await userEvent.type(screen.getByLabelText("Title"), "Short");
  await userEvent.type(screen.getByLabelText("Text"), "One page.");
  await userEvent.click(screen.getByRole("button", { name: "Add" }));
  const node = { kind: "decision", title: "Short", text: "One page.", project: "", tags: [] };
  await waitFor(() => expect(calls).toEqual([["/knowledge", node]]));
});
