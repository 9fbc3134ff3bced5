// The events of an agent that its conversation shows: older ones by stretches of the log, newer ones
// as they come.
import { infiniteQueryOptions, useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";

import { api, type Schemas, take } from "~/api/client";
import { ofAgent } from "~/api/keys";
import { type AgentEvent, withEvents } from "~/live/eventLog";
import { useEvents } from "~/live/Live";

const STRETCH = 1000;
const MOST_EMPTY = 10;

type Audience = "team" | "everyone";

interface EventStretch {
  events: AgentEvent[];
  /** The log was read after this `seq`. */
  after: number;
}

/** Read back from `to` until something is found, or the log begins. */
async function readBack(
  agent: string,
  audience: Audience,
  to: number,
  signal: AbortSignal,
): Promise<EventStretch> {
  let upTo = to;
  for (let stretch = 0; upTo > 0 && stretch < MOST_EMPTY; stretch++) {
    const after = Math.max(0, upTo - STRETCH);
    const events: AgentEvent[] = [];
    let cursor = after;
    while (cursor < upTo) {
      const query = { after: cursor, limit: STRETCH, audience };
      // oxlint-disable-next-line no-await-in-loop -- each page begins where the one before ended
      const page = (await take(
        api.GET("/agents/{agent}/events", { params: { path: { agent }, query }, signal }),
      )) as Schemas["EventPageView"];
      events.push(...page.events.filter((event) => event.seq <= upTo));
      if (page.next <= cursor) break;
      cursor = page.next;
    }
    if (events.length) return { events, after };
    upTo = after;
  }
  return { events: [], after: upTo };
}

function eventsQuery(agent: string, audience: Audience, upTo: number) {
  return infiniteQueryOptions({
    queryKey: ofAgent(agent, "events", "shown", audience, upTo),
    initialPageParam: upTo,
    queryFn: ({ pageParam, signal }) => readBack(agent, audience, pageParam, signal),
    getPreviousPageParam: (page) => (page.after > 0 ? page.after : undefined),
    getNextPageParam: (): number | undefined => undefined,
    staleTime: Infinity,
    gcTime: 0,
    meta: { newer: null },
  });
}

/** Events for an audience in the conversation with an entity; `upTo` is the log's end at first. */
export function useShownEvents(
  agent: string,
  entity: string,
  audience: Audience,
  upTo: number,
) {
  const query = useInfiniteQuery(eventsQuery(agent, audience, upTo));
  const recent = useEvents();
  const [came, setCame] = useState<readonly AgentEvent[]>([]);
  useEffect(() => {
    const wanted = new Set<string>(audience === "team" ? ["team", "everyone"] : ["everyone"]);
    const fresh = recent.filter((event) => event.seq > upTo && wanted.has(event.audience));
    setCame((known) => withEvents(known, fresh));
  }, [recent, audience, upTo]);
  const events = useMemo(() => {
    const older = query.data?.pages.flatMap((page) => page.events) ?? [];
    return [...older, ...came].filter((event) => concerns(event, entity));
  }, [query.data, came, entity]);
  return { ...query, events };
}

/** Whether an event belongs into the conversation with an entity; the coordinator's has them all. */
export const concerns = ({ who, data }: AgentEvent, entity: string): boolean =>
  entity === "coordinator" ||
  [who, data["worker"], data["name"]].some((named) => String(named).toLowerCase() === entity.toLowerCase());
