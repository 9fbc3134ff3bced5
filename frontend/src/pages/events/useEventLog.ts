// The events of an agent that fit a filter: the newest first asked for, older ones by stretches,
// new ones as they happen.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useRef, useState } from "react";

import { ofAgent } from "~/api/keys";
import { type EventsWanted, readEvents } from "~/api/system";
import type { AgentEvent } from "~/live/eventLog";
import { useEventListener } from "~/live/Live";
import { type Filter, isOfType, joined, type Stretch, STRETCH, wantedOf } from "./eventList";

const MOST_A_PAGE = 1000;
const AROUND = 20;

/** Return every event that is wanted from after `from` up to `to`, by as many pages as it takes. */
async function readStretch(
  agent: string,
  from: number,
  to: number,
  wanted: EventsWanted,
  signal?: AbortSignal,
): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  let after = from;
  while (after < to) {
    const limit = Math.min(MOST_A_PAGE, to - after);
    const page = await readEvents(agent, { after }, limit, wanted, signal);
    events.push(...page.events.filter((event) => event.seq <= to));
    if (page.next <= after) break;
    after = page.next;
  }
  return events;
}

export const readAll = (agent: string, filter: Filter) =>
  readStretch(agent, 0, Number.MAX_SAFE_INTEGER, wantedOf(filter));

/** Return the last events that are wanted before `end`: some, unless there are none at all. */
export async function readOlder(
  agent: string,
  end: number,
  wanted: EventsWanted,
  signal?: AbortSignal,
): Promise<Stretch> {
  let before: number | null = end;
  while (before !== null) {
    const page = await readEvents(agent, { before }, STRETCH, wanted, signal);
    before = page.previous ?? null;
    if (page.events.length) return { before, events: page.events };
  }
  return { before, events: [] };
}

/** `last` is the newest event when the page was opened, `at` one that must be shown. */
export function useEventLog(agent: string, last: number, filter: Filter, at: number | null) {
  const wanted = wantedOf(filter);
  const [shown] = useState(at);
  const query = useInfiniteQuery({
    queryKey: ofAgent(agent, "events", wanted, last, shown),
    initialPageParam: last + 1,
    queryFn: async ({ pageParam, signal }): Promise<Stretch> => {
      if (shown === null || pageParam <= last) return readOlder(agent, pageParam, wanted, signal);
      const from = Math.max(0, Math.min(last - STRETCH, shown - AROUND));
      const events = await readStretch(agent, from, last, wanted, signal);
      return { before: from > 0 ? from + 1 : null, events };
    },
    getPreviousPageParam: (page) => page.before ?? undefined,
    getNextPageParam: () => undefined,
    staleTime: Infinity,
    meta: { newer: null },
  });
  const live = useLive(agent, last, filter);
  const events = useMemo(() => joined(query.data?.pages ?? [], live), [query.data, live]);
  return { ...query, events };
}

/** The events that fit and came since; whose they are, and of which node, the gateway knows. */
function useLive(agent: string, last: number, filter: Filter): readonly AgentEvent[] {
  const [live, setLive] = useState<readonly AgentEvent[]>([]);
  const cursor = useRef(last);
  const { type, entity, node } = filter;
  const take = useCallback(
    (came: readonly AgentEvent[]) => {
      const fresh = came.filter((event) => isOfType(event.type, type));
      const add = (events: readonly AgentEvent[]) =>
        events.length && setLive((known) => [...known, ...events]);
      if (!fresh.length) return;
      if (!entity && !node) {
        add(fresh);
        return;
      }
      const after = cursor.current;
      cursor.current = Math.max(after, came.at(-1)?.seq ?? after);
      readStretch(agent, after, cursor.current, wantedOf({ type, entity, node })).then(add, () => {
        cursor.current = after; // the next event asks again
      });
    },
    [agent, type, entity, node],
  );
  useEventListener(take);
  return live;
}
