// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { createMemoryRouter, RouterProvider } from "react-router";
import { afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";

import { ofHome } from "~/api/keys";
import { keptDraft } from "~/pages/new-agent/draft";
import { startTexts } from "~/text/i18n";
import Plans from "./plans";

beforeAll(startTexts);
afterEach(() => vi.unstubAllGlobals());

const GOOD = "nodes:\n- {id: a, task: x}\n";
let asked: unknown[] = [];
beforeEach(() => {
  asked = [];
  sessionStorage.clear();
  URL.createObjectURL = () => "blob:picture";
  URL.revokeObjectURL = () => undefined;
  vi.stubGlobal("fetch", async (request: Request) => {
    if (request.method === "GET") return Response.json({ nodes: [{ id: "a", task: "x" }] });
    const body = (await request.json()) as { plan: string; form: string };
    asked.push(body);
    if (body.plan.includes("bad")) {
      return Response.json({ status: 422, detail: "plan:1: nodes: unknown key 'bad'" }, { status: 422 });
    }
    return Response.json({ nodes: 1, workers: 0, form: body.form, text: body.form === "yaml" ? GOOD : "<svg/>" });
  });
});

function open(address: string, scope = "control") {
  const client = new QueryClient();
  client.setQueryData(ofHome("whoami"), { name: "home", scope });
  const router = createMemoryRouter(
    [{ path: "/plans", element: <Plans /> }, { path: "/new", element: <p>the form</p> }],
    { initialEntries: [address] },
  );
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
}
const write = (text: string) => fireEvent.change(screen.getByLabelText("Plan file"), { target: { value: text } });

test("a plan is checked and drawn once one pauses typing, and then run", async () => {
  open("/plans");
  write(GOOD);
  await screen.findByText(/The plan is valid: 1 node/);
  expect(screen.getByRole("img", { name: "The nodes of the plan" }).getAttribute("src")).toBe("blob:picture");
  await userEvent.click(screen.getByRole("button", { name: "Run this plan" }));
  await screen.findByText("the form");
  expect(keptDraft().plan).toBe(GOOD);
});

test("the mistakes of a plan are shown, and it cannot be run or saved", async () => {
  open("/plans");
  write("bad: 1");
  expect((await screen.findByRole("alert")).textContent).toContain("unknown key 'bad'");
  expect((screen.getByRole("button", { name: "Run this plan" }) as HTMLButtonElement).disabled).toBe(true);
  expect((screen.getByRole("button", { name: "Save as" }) as HTMLButtonElement).disabled).toBe(true);
});

test("the plan of a run is shown as YAML", async () => {
  open("/plans?agent=survey-1a2b");
  await waitFor(() => expect((screen.getByLabelText("Plan file") as HTMLTextAreaElement).value).toBe(GOOD));
  expect(asked[0]).toEqual({ plan: '{"nodes":[{"id":"a","task":"x"}]}', form: "yaml" });
});

test("a browser that may only read can check plans, and runs none", async () => {
  open("/plans", "read");
  write(GOOD);
  await screen.findByText(/The plan is valid/);
  expect(screen.queryByRole("button", { name: "Run this plan" })).toBeNull();
  expect(screen.queryByRole("button", { name: "Let a model write a plan" })).toBeNull();
});

test("having a plan written opens the form of a new agent that only plans", async () => {
  open("/plans");
  await userEvent.click(screen.getByRole("button", { name: "Let a model write a plan" }));
  expect(keptDraft()).toMatchObject({ planning: "static", isPlanOnly: true });
});
