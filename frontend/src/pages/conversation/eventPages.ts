// The events of an agent that its conversation shows: older ones by stretches of the log, newer ones
// as they come.
import { infiniteQueryOptions, useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";

import { api, type Schemas, take } from "~/api/client";
import { ofAgent } from "~/api/keys";
import { type AgentEvent, withEvents } from "~/live/eventLog";
import { useEvents } from "~/live/Live";
import { isShown } from "./eventLines";

const STRETCH = 1000;
const MOST_EMPTY = 10;

interface EventStretch {
  events: AgentEvent[];
  /** The log was read after this `seq`. */
  after: number;
}

/** Read back from `to` until something is found, or the log begins. */
async function readBack(
  agent: string,
  types: readonly string[],
  to: number,
  signal: AbortSignal,
): Promise<EventStretch> {
  let upTo = to;
  for (let stretch = 0; upTo > 0 && stretch < MOST_EMPTY; stretch++) {
    const after = Math.max(0, upTo - STRETCH);
    const events: AgentEvent[] = [];
    let cursor = after;
    while (cursor < upTo) {
      const query = { after: cursor, limit: STRETCH, type: [...types] };
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

function eventsQuery(agent: string, types: readonly string[], upTo: number) {
  return infiniteQueryOptions({
    queryKey: ofAgent(agent, "events", "shown", types.length, upTo),
    initialPageParam: upTo,
    queryFn: ({ pageParam, signal }) => readBack(agent, types, pageParam, signal),
    getPreviousPageParam: (page) => (page.after > 0 ? page.after : undefined),
    getNextPageParam: (): number | undefined => undefined,
    staleTime: Infinity,
    gcTime: 0,
    meta: { newer: null },
  });
}

/** Events of some types in the conversation with an entity; `upTo` is the log's end at first. */
export function useShownEvents(
  agent: string,
  entity: string,
  types: readonly string[],
  upTo: number,
) {
  const query = useInfiniteQuery(eventsQuery(agent, types, upTo));
  const recent = useEvents();
  const [came, setCame] = useState<readonly AgentEvent[]>([]);
  useEffect(() => {
    const wanted = new Set(types);
    const fresh = recent.filter((event) => event.seq > upTo && wanted.has(event.type));
    setCame((known) => withEvents(known, fresh));
  }, [recent, types, upTo]);
  const events = useMemo(() => {
    const older = query.data?.pages.flatMap((page) => page.events) ?? [];
    return [...older, ...came].filter((event) => isShown(event, entity));
  }, [query.data, came, entity]);
  return { ...query, events };
}
