// Which events are wanted, those that are known, and how one is told in a line. Pure.
import type { EventsWanted } from "~/api/system";
import type { AgentEvent } from "~/live/eventLog";

export interface Filter {
  /** A type, as `node.failed`, or a group, as `node.*`; '' for all. */
  type: string;
  entity: string;
  node: string;
}

/** The groups of events, in the order in which they are offered. */
export const GROUPS = [
  "agent",
  "stage",
  "node",
  "worker",
  "message",
  "model",
  "tool",
  "human",
  "trigger",
  "memory",
  "context",
  "outside",
  "worktree",
  "channel",
  "child",
  "entity",
  "service",
] as const;

export const readFilter = (query: URLSearchParams): Filter => ({
  type: query.get("type") ?? "",
  entity: query.get("entity") ?? "",
  node: query.get("node") ?? "",
});

export const wantedOf = ({ type, entity, node }: Filter): EventsWanted => ({
  type: type ? [type] : [],
  ...(entity ? { entity } : {}),
  ...(node ? { node } : {}),
});

/** Whether a live event is one of the type that is looked for; the rest is asked of the gateway. */
export function isOfType(type: string, wanted: string): boolean {
  if (!wanted) return true;
  const group = wanted.endsWith("*") ? wanted.slice(0, -1) : wanted.endsWith(".") ? wanted : null;
  return group === null ? type === wanted : type.startsWith(group);
}

/** A stretch of the log; older ones stand before `before`, none if it is null. */
export interface Stretch {
  before: number | null;
  events: AgentEvent[];
}

export const STRETCH = 400;

/** Return all events, each once, oldest first. */
export function joined(stretches: readonly Stretch[], live: readonly AgentEvent[]): AgentEvent[] {
  const known = new Map<number, AgentEvent>();
  for (const event of [...stretches.flatMap((one) => one.events), ...live]) {
    known.set(event.seq, event);
  }
  return Array.from(known.values()).toSorted((one, other) => one.seq - other.seq);
}

const SHOWN = ["name", "summary", "reason", "text", "task", "goal", "tool", "model", "cause", "status", "to"];
const LONGEST = 240;

/** Return what an event says in a line: the facts that people look for first. */
export function said(event: AgentEvent): string {
  const data = event.data ?? {};
  const parts = SHOWN.flatMap((key) => {
    const value = data[key];
    return typeof value === "string" && value ? [value] : [];
  });
  const line = parts.join(" · ").replace(/\s+/g, " ");
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}

/** How an event looks: what failed, what asks, what ended well. */
export function toneOf(type: string): "bad" | "ask" | "good" | "quiet" {
  if (/(failed|crashed|refused|suspect|backing_off|dead|warning|lost)$/.test(type)) return "bad";
  if (/^human\.(question|asked)|out_of_budget|approval/.test(type)) return "ask";
  return /(completed|published|answered|recovered)$/.test(type) ? "good" : "quiet";
}

export const asJsonl = (events: readonly AgentEvent[]): string =>
  events.map((event) => `${JSON.stringify(event)}\n`).join("");
