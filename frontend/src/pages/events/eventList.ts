// The filter of the events page, and the events that are known. Pure.
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
  "role",
  "worker",
  "message",
  "model",
  "tool",
  "sandbox",
  "human",
  "trigger",
  "memory",
  "shared",
  "knowledge",
  "outside",
  "worktree",
  "channel",
  "child",
  "host",
  "entity",
  "service",
  "events",
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

export const asJsonl = (events: readonly AgentEvent[]): string =>
  events.map((event) => `${JSON.stringify(event)}\n`).join("");
