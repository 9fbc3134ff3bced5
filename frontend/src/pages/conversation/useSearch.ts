// Searching in a conversation: the gateway finds, older pages are read until the hit is in its place.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";

import { api, take } from "~/api/client";
import { ofAgent } from "~/api/keys";
import { kindsOf, type ThreadPage } from "~/api/stretches";
import { stepTo } from "./search";

const MOST = 1000;
const PAUSE_MILLISECONDS = 200;
const NEWEST = 2 ** 53;

/** What is searched for, once one pauses in writing it. */
function useSettled(query: string): string {
  const [settled, setSettled] = useState(query);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(query), PAUSE_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [query]);
  return settled;
}

function useHits(agent: string, entity: string, search: string, isAll: boolean) {
  return useQuery({
    queryKey: ofAgent(agent, "events", "found", entity, search, isAll),
    enabled: search !== "",
    queryFn: async ({ signal }) => {
      const found: string[] = [];
      let before: number | null = NEWEST;
      while (before !== null && found.length < MOST) {
        const query = { before, entity, kind: kindsOf(isAll), limit: MOST, search };
        // oxlint-disable-next-line no-await-in-loop -- each page begins where the one before ended
        const page: ThreadPage = await take(
          api.GET("/agents/{agent}/thread", { params: { path: { agent }, query }, signal }),
        );
        found.unshift(...page.entries.map((entry) => entry.id));
        before = page.previous;
      }
      return found;
    },
  });
}

interface Searched {
  agent: string;
  entity: string;
  isAll: boolean;
  /** What is there to be shown. */
  keys: ReadonlySet<string>;
  thread: { hasOlder: boolean; isLoadingOlder: boolean; loadOlder: () => void };
  onShow: (key: string) => void;
}

export function useSearch({ agent, entity, isAll, keys, thread, onShow }: Searched) {
  const [query, setQuery] = useState<string | null>(null);
  const [shown, setShown] = useState<string | null>(null);
  const wanted = query?.trim() ?? "";
  const settled = useSettled(wanted);
  const found = useHits(agent, entity, settled, isAll);
  const hits = useMemo(() => (wanted ? (found.data ?? []) : []), [wanted, found.data]);
  const hit = shown !== null && hits.includes(shown) ? shown : (hits.at(-1) ?? null);
  const isThere = hit !== null && keys.has(hit);
  useEffect(() => {
    if (isThere && hit !== null) onShow(hit);
  }, [isThere, hit, onShow]);
  const { hasOlder, isLoadingOlder, loadOlder } = thread;
  const isAway = hit !== null && !isThere && hasOlder;
  useEffect(() => {
    if (isAway && !isLoadingOlder) loadOlder();
  }, [isAway, isLoadingOlder, loadOlder]);
  return {
    query,
    hits,
    found: hit,
    isReading: wanted !== "" && (isAway || found.isFetching || settled !== wanted),
    setQuery: (next: string | null) => {
      setQuery(next);
      setShown(null);
    },
    step: (step: 1 | -1) => setShown(stepTo(hits, hit, step)),
  };
}
