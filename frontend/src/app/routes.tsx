// Which page is at which address. Each is fetched when it is first shown.
import type { ComponentType } from "react";
import { createBrowserRouter, matchRoutes, type RouteObject } from "react-router";

import { fetchedPart } from "~/ui/fetched";
import { AgentFrame, Frame } from "./Frame";
import { Login } from "./Login";
import { Broken, NotFound, PageFrame } from "./PageFrame";

type Load = () => Promise<{ default: ComponentType }>;

const BASE = "/ui";

const page = (path: string, load: Load): RouteObject => {
  let First: ComponentType | undefined;
  const Later = fetchedPart(load);
  const Shown = () => (First ? <First /> : <Later />);
  const fetchNow = async () => {
    First = (await load()).default;
  };
  return { path, element: <PageFrame page={<Shown />} />, handle: fetchNow };
};

/**
 * Fetch the page of an address before anything is drawn; one that cannot be had is tried again when
 * it is drawn. What takes the place of grey lines, React holds back for 0.3 s.
 */
export async function fetchFirst(pathname: string): Promise<void> {
  const match = matchRoutes(routes, pathname, BASE)?.at(-1);
  await (match?.route.handle as (() => Promise<void>) | undefined)?.().catch(() => undefined);
}

const agentPages: RouteObject[] = [
  page("", () => import("~/pages/conversation/conversation")),
  page("with/:entity", () => import("~/pages/conversation/conversation")),
  page("board/:node?", () => import("~/pages/board/board")),
  page("result", () => import("~/pages/result/result")),
  page("timeline", () => import("~/pages/timeline/timeline")),
  page("communication", () => import("~/pages/communication/communication")),
  page("workers/:worker", () => import("~/pages/worker/worker")),
  page("files/*", () => import("~/pages/files/files")),
  page("memory/*", () => import("~/pages/memory/memory")),
  page("triggers", () => import("~/pages/triggers/triggers")),
  page("events", () => import("~/pages/events/events")),
];

const routes: RouteObject[] = [
  { path: "/login", element: <Login />, errorElement: <Broken /> },
  {
    path: "/",
    element: <Frame />,
    errorElement: <Broken />,
    children: [
      page("", () => import("~/pages/agents/agents")),
      page("new", () => import("~/pages/new-agent/new-agent")),
      { path: "agents/:agent", element: <AgentFrame />, children: agentPages },
      page("roles/edit", () => import("~/pages/roles/roles")),
      page("roles/:agent?", () => import("~/pages/roles/studio")),
      page("plans", () => import("~/pages/plans/plans")),
      page("questions", () => import("~/pages/questions/page")),
      page("knowledge/:node?", () => import("~/pages/knowledge/knowledge")),
      page("usage", () => import("~/pages/usage/usage")),
      page("settings/*", () => import("~/pages/settings/settings")),
      page("health", () => import("~/pages/health/health")),
      page("home/:tab?", () => import("~/pages/admin/admin")),
      { path: "*", element: <NotFound /> },
    ],
  },
];

export const makeRouter = () => createBrowserRouter(routes, { basename: BASE });
