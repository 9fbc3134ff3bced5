// The thread of a conversation: its three logs read together, older ones on demand.
import { useCallback, useMemo } from "react";

import { useConversation, useTranscript } from "~/api/stretches";
import { useShownEvents } from "./eventPages";
import { ofEvents, ofMessages, ofTranscript } from "./items";
import { horizonOf, isInTheWay, merged, type Reach } from "./merge";

interface Log {
  isPending: boolean;
  isError: boolean;
  hasPreviousPage: boolean;
  isFetchingPreviousPage: boolean;
}

function reachOf(log: Log, first: number | undefined): Reach {
  return log.isPending
    ? { first: undefined, hasOlder: true }
    : { first, hasOlder: log.hasPreviousPage && !log.isError };
}

/** `upTo` is the `seq` of the agent's last event when this conversation was opened. */
export function useThread(agent: string, entity: string, upTo: number, isAll: boolean) {
  const talk = useConversation(agent, entity);
  const work = useTranscript(agent, entity, undefined, isAll);
  const seen = useShownEvents(agent, entity, isAll ? "team" : "everyone", upTo);

  const entries = isAll ? work.entries : NOTHING;
  const reaches = [
    reachOf(talk, talk.messages[0]?.ts),
    isAll ? reachOf(work, entries[0]?.ts) : ALL,
    reachOf(seen, seen.events[0]?.ts),
  ];
  const horizon = horizonOf(reaches);
  const ofTalk = useMemo(() => ofMessages(talk.messages), [talk.messages]);
  const ofWork = useMemo(() => ofTranscript(entity, entries), [entity, entries]);
  const ofSeen = useMemo(() => ofEvents(seen.events), [seen.events]);
  const items = useMemo(
    () => merged({ talk: ofTalk, work: ofWork, seen: ofSeen }, horizon),
    [ofTalk, ofWork, ofSeen, horizon],
  );

  const logs = [talk, work, seen];
  const inTheWay = logs.filter((_, place) => isInTheWay(reaches[place] ?? ALL, horizon));
  const loadOlder = useCallback(() => {
    for (const log of inTheWay) {
      if (!log.isPending && !log.isFetchingPreviousPage) void log.fetchPreviousPage();
    }
  }, [inTheWay]);

  const mine = isAll ? logs : [talk, seen];
  return {
    items,
    messages: talk.messages,
    isPending: mine.some((log) => log.isPending),
    error: mine.find((log) => log.error)?.error ?? null,
    retry: () => mine.forEach((log) => log.error && void log.refetch()),
    hasOlder: inTheWay.length > 0,
    isLoadingOlder: inTheWay.some((log) => log.isFetchingPreviousPage),
    loadOlder,
  };
}

const ALL: Reach = { first: undefined, hasOlder: false };
const NOTHING: never[] = [];
