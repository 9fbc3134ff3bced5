// The events of one agent that a page has: each once, in their order. Pure.
import type { Schemas } from "~/api/client";

export type AgentEvent = Schemas["EventView"];

/** Return the events with those that came, without any that are there already or came before. */
export function withEvents(
  known: readonly AgentEvent[],
  came: readonly AgentEvent[],
  most = Infinity,
): readonly AgentEvent[] {
  const last = known.at(-1)?.seq ?? 0;
  const fresh = came.filter((event) => event.seq > last);
  if (!fresh.length) return known;
  const all = [...known, ...fresh];
  return all.length > most ? all.slice(all.length - most) : all;
}
