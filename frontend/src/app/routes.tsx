// Which page is at which address. Each is fetched when it is first shown.
import type { ComponentType } from "react";
import { createBrowserRouter, type RouteObject } from "react-router";

import { fetchedPart } from "~/ui/fetched";
import { AgentFrame, Frame } from "./Frame";
import { Login } from "./Login";
import { Broken, NotFound, PageFrame } from "./PageFrame";

type Load = () => Promise<{ default: ComponentType }>;

const page = (path: string, load: Load): RouteObject => {
  const Shown = fetchedPart(load);
  return { path, element: <PageFrame page={<Shown />} /> };
};

const agentPages: RouteObject[] = [
  page("", () => import("~/pages/conversation/conversation")),
  page("with/:entity", () => import("~/pages/conversation/conversation")),
  page("board/:node?", () => import("~/pages/board/board")),
  page("timeline", () => import("~/pages/timeline/timeline")),
  page("communication", () => import("~/pages/communication/communication")),
  page("workers/:worker", () => import("~/pages/worker/worker")),
  page("files/*", () => import("~/pages/files/files")),
  page("memory/*", () => import("~/pages/memory/memory")),
  page("triggers", () => import("~/pages/triggers/triggers")),
  page("events", () => import("~/pages/events/events")),
];

export const makeRouter = () =>
  createBrowserRouter(
    [
      { path: "/login", element: <Login />, errorElement: <Broken /> },
      {
        path: "/",
        element: <Frame />,
        errorElement: <Broken />,
        children: [
          page("", () => import("~/pages/agents/agents")),
          page("new", () => import("~/pages/new-agent/new-agent")),
          { path: "agents/:agent", element: <AgentFrame />, children: agentPages },
          page("questions", () => import("~/pages/questions/page")),
          page("usage", () => import("~/pages/usage/usage")),
          page("settings/*", () => import("~/pages/settings/settings")),
          page("health", () => import("~/pages/health/health")),
          { path: "*", element: <NotFound /> },
        ],
      },
    ],
    { basename: "/ui" },
  );
