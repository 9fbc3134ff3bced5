// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { createMemoryRouter, RouterProvider } from "react-router";
import { afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";

import { ofHome } from "~/api/keys";
import { startTexts } from "~/text/i18n";
import Admin from "./admin";

beforeAll(startTexts);
afterEach(() => vi.unstubAllGlobals());

type Call = [method: string, path: string, body: unknown];
let calls: Call[] = [];
const TOKENS = [
  { name: "home", scope: "control", status: "active", created_at: 1, created_by: "home", expires_at: null, last_used_at: null },
  { name: "ci", scope: "talk", status: "active", created_at: 1, created_by: "home", expires_at: null, last_used_at: 5 },
];
const agent = (id: string, status: string) => ({ id, name: id, status, updated_at: 1, goal: "x" });
const AGENTS = [agent("old", "completed"), agent("busy", "working"), agent("watcher", "completed")];
const ANSWERS: Record<string, unknown> = {
  "GET /health": { version: "1", home: "/h" },
  "GET /me": { status: "available", since: null, until: null, channel: null },
  "GET /channels": [{ name: "console" }, { name: "phone" }],
  "PUT /me": { status: "away" },
  "GET /models": {
    default: null,
    why: "",
    providers: [
      { name: "openai", usable: false, reason: "OPENAI_API_KEY is not set", default_model: "openai/gpt", models: [] },
      { name: "script", usable: true, reason: "built in", default_model: "script/survey", models: [] },
    ],
  },
  "GET /settings/agiraph.yaml": { name: "agiraph.yaml", etag: "e1" },
  "PUT /settings/agiraph.yaml": {},
  "GET /tokens": TOKENS,
  "POST /tokens": { ...TOKENS[1], name: "new", token: "agt_secret" },
  "DELETE /tokens/ci": TOKENS[1],
  "GET /logins": [{ id: "s1", scope: "read", created_by: "home", created_at: 1, expires_at: 9, browser: "curl/8", last_used_at: null }],
  "DELETE /logins/s1": {},
  "GET /audit": [{ ts: 1, id: "c1", who: "ci", login: null, method: "GET", path: "/agents", client: "", status: 403, ms: 1, reason: "needs talk", held_back: 0 }],
  "GET /logs": [
    { timestamp: "2026-01-01T10:00:00.123Z", level: "error", entity: "broker", event: "no answer", exception: "", fields: { status: 500 } },
  ],
  "GET /entities": [],
  "GET /agents": AGENTS,
  "GET /agents/old": AGENTS[0],
  "GET /agents/old/triggers": [],
  "GET /agents/watcher/triggers": [{ status: "active" }],
  "POST /agents/old/archive": { id: "old", path: "" },
  "DELETE /archive/old": { id: "old", name: "old", freed_bytes: 1000, taught: 0, forgotten: 0 },
};

beforeEach(() => {
  calls = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const path = new URL(request.url).pathname;
    if (request.method !== "GET") {
      const text = await request.text();
      calls.push([request.method, path, text ? (JSON.parse(text) as unknown) : null]);
    }
    return Response.json(ANSWERS[`${request.method} ${path}`] ?? null);
  });
});

function open(tab: string, scope = "control"): void {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(ofHome("whoami"), { name: "home", scope, login: "own", expires_at: null });
  const router = createMemoryRouter([{ path: "/home/:tab?", element: <Admin /> }], { initialEntries: [`/home/${tab}`] });
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
}

const press = async (name: RegExp | string, role = "button") =>
  userEvent.click(await screen.findByRole(role, { name }));

test("a browser that may only read sees itself and the models, and sets nothing", async () => {
  open("you", "read");
  await screen.findByText(/You are available/);
  expect(screen.getAllByRole("tab").map((tab) => tab.textContent)).toEqual(["You", "Models"]);
  expect(screen.queryByRole("button", { name: "Set me away" })).toBeNull();
});

test("a person is set away, with a channel for what is urgent", async () => {
  open("you");
  await screen.findByRole("option", { name: "phone" });
  expect(screen.queryByRole("option", { name: "console" })).toBeNull();
  await userEvent.selectOptions(screen.getByLabelText("Urgent notices go to"), "phone");
  await press("Set me away");
  await waitFor(() => expect(calls).toEqual([["PUT", "/me", { status: "away", channel: "phone" }]]));
});

test("the first start names the variable of a key, and makes a model the default", async () => {
  open("models");
  await screen.findByText(/There is no model yet/);
  expect(screen.getByText(/export OPENAI_API_KEY=/)).toBeTruthy();
  await userEvent.click(screen.getByText("script"));
  const act = await screen.findByRole("button", { name: "Make it the default: script/survey" });
  await waitFor(() => expect((act as HTMLButtonElement).disabled).toBe(false));
  await userEvent.click(act);
  const change = { key: ["models", "default"], value: "script/survey", remove: false };
  await waitFor(() => expect(calls).toEqual([["PUT", "/settings/agiraph.yaml", { changes: [change] }]]));
  expect(screen.queryByRole("button", { name: /openai/ })).toBeNull();
});

test("a token is made, its secret shown once; another one is revoked by its name", async () => {
  open("access");
  await press("Add a token");
  fireEvent.change(screen.getByLabelText("Name"), { target: { value: "new" } });
  fireEvent.change(screen.getByLabelText("Valid for"), { target: { value: "30d" } });
  await press("Create the token");
  await screen.findByText("agt_secret");
  expect(calls).toEqual([["POST", "/tokens", { name: "new", scope: "read", expires_in_seconds: 2_592_000 }]]);
  await press("Close");
  await press("Actions for home");
  expect(screen.queryByRole("menuitem", { name: "Revoke" })).toBeNull();
  await userEvent.keyboard("{Escape}");
  await press("Actions for ci");
  await press("Revoke", "menuitem");
  const dialog = screen.getByRole("dialog", { name: "Revoke the token ci?" });
  await userEvent.click(within(dialog).getByRole("button", { name: "Revoke" }));
  await waitFor(() => expect(calls[1]).toEqual(["DELETE", "/tokens/ci", null]));
});

test("another browser is logged out once the person has agreed", async () => {
  open("access");
  await userEvent.click(await screen.findByRole("button", { name: "Log out" }));
  const dialog = screen.getByRole("dialog", { name: "Log out curl/8 (s1)?" });
  await userEvent.click(within(dialog).getByRole("button", { name: "Log out" }));
  await waitFor(() => expect(calls).toEqual([["DELETE", "/logins/s1", null]]));
});

test("a refused call is shown with its reason", async () => {
  open("audit");
  const row = await screen.findByRole("row", { name: /GET \/agents/ });
  expect(row.textContent).toContain("ci");
  expect(row.textContent).toContain("403 needs talk");
});

test("log lines are shown with their fields", async () => {
  open("logs");
  const line = await screen.findByText(/no answer/);
  expect(line.textContent).toBe("2026-01-01 10:00:00.123 error broker no answer status=500");
});

test("agents that ended long ago are deleted, those with triggers kept", async () => {
  open("tidy");
  await press("Show these agents");
  expect((await screen.findByText(/Kept, because/)).textContent).toContain("watcher");
  await press("Delete 1 agent");
  const dialog = screen.getByRole("dialog", { name: "Delete this agent permanently?" });
  expect(dialog.textContent).toContain("old");
  expect(calls).toEqual([]);
  await userEvent.click(within(dialog).getByRole("button", { name: "Delete 1 agent" }));
  await waitFor(() => expect(calls.map(([method, path]) => `${method} ${path}`)).toEqual(["POST /agents/old/archive", "DELETE /archive/old"]));
});
