// Where pages are: the only place that knows their addresses (below /ui).
const part = encodeURIComponent;
const rest = (path: string) => path.split("/").map(part).join("/");

export const paths = {
  home: "/",
  newAgent: "/new",
  studio: (agent = "") => `/roles${agent ? `/${part(agent)}` : ""}`,
  editRoles: "/roles/edit",
  knowledge: (node = "") => `/knowledge${node ? `/${part(node)}` : ""}`,
  plans: (agent = "", run = "") =>
    `/plans${agent ? `?${new URLSearchParams({ agent, ...(run ? { run } : {}) })}` : ""}`,
  usage: "/usage",
  settings: (file = "") => `/settings${file ? `/${rest(file)}` : ""}`,
  health: "/health",
  admin: (tab = "", query: Record<string, string> = {}) =>
    `/home${tab ? `/${part(tab)}` : ""}${Object.keys(query).length ? `?${new URLSearchParams(query)}` : ""}`,
  login: "/login",
  agent: (agent: string) => `/agents/${part(agent)}`,
  entity: (agent: string, entity: string) => `/agents/${part(agent)}/with/${part(entity)}`,
  board: (agent: string, node = "") =>
    `/agents/${part(agent)}/board${node ? `/${part(node)}` : ""}`,
  result: (agent: string, run = "") =>
    `/agents/${part(agent)}/result${run ? `?run=${part(run)}` : ""}`,
  timeline: (agent: string) => `/agents/${part(agent)}/timeline`,
  communication: (agent: string) => `/agents/${part(agent)}/communication`,
  worker: (agent: string, worker: string) => `/agents/${part(agent)}/workers/${part(worker)}`,
  files: (agent: string, path = "") => `/agents/${part(agent)}/files${path ? `/${rest(path)}` : ""}`,
  memory: (agent: string, path = "") =>
    `/agents/${part(agent)}/memory${path ? `/${rest(path)}` : ""}`,
  triggers: (agent: string) => `/agents/${part(agent)}/triggers`,
  events: (agent: string) => `/agents/${part(agent)}/events`,
} as const;

/** The pages of an agent besides its conversations, in the order in which they are listed, with their keys. */
export const AGENT_PAGES = [
  ["board", "board", "g b"],
  ["result", "star", "g l"],
  ["timeline", "timeline", "g t"],
  ["communication", "communication", "g m"],
  ["files", "folder", "g f"],
  ["memory", "memory", "g y"],
  ["triggers", "trigger", "g r"],
  ["events", "events", "g e"],
] as const;

/** The pages of the home, with their keys; a browser without the scope `control` has fewer. */
export const HOME_PAGES = [
  ["roles", "team", paths.studio(), "g d"],
  ["knowledge", "knowledge", paths.knowledge(), "g x"],
  ["usage", "usage", paths.usage, "g u"],
  ["settings", "settings", paths.settings(), "g s"],
  ["health", "health", paths.health, "g h"],
  ["admin", "home", paths.admin(), "g o"],
] as const;

/** The pages of the home that a browser may open. */
export const homePages = (mayControl: boolean) =>
  HOME_PAGES.filter(([name]) => mayControl || name !== "settings");

/** Return a page that one may be led to after logging in; only pages of ours. */
export function nextPage(asked: string | null): string {
  if (!asked?.startsWith("/") || asked.startsWith("//") || asked.includes("\\")) return "/";
  const inside = asked.startsWith("/ui/") ? asked.slice(3) : asked;
  return inside.startsWith("/login") ? "/" : inside;
}
