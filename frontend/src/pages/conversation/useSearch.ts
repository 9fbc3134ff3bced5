// Searching in a conversation: the hits among what is there; older ones are read while one searches.
import { useEffect, useMemo, useState } from "react";

import type { Item } from "./items";
import { hitsOf, stepTo } from "./search";

export function useSearch(
  items: readonly Item[],
  thread: { hasOlder: boolean; isLoadingOlder: boolean; loadOlder: () => void },
  onShow: (key: string) => void,
) {
  const [query, setQuery] = useState<string | null>(null);
  const [shown, setShown] = useState<string | null>(null);
  const hits = useMemo(() => (query === null ? [] : hitsOf(items, query)), [items, query]);
  const found = shown !== null && hits.includes(shown) ? shown : (hits.at(-1) ?? null);
  const isWanted = Boolean(query?.trim());
  useEffect(() => {
    if (isWanted && found !== null) onShow(found);
  }, [isWanted, found, onShow]);
  const { hasOlder, isLoadingOlder, loadOlder } = thread;
  useEffect(() => {
    if (isWanted && hasOlder && !isLoadingOlder) loadOlder();
  }, [isWanted, hasOlder, isLoadingOlder, loadOlder]);
  return {
    query,
    hits,
    found: isWanted ? found : null,
    setQuery: (next: string | null) => {
      setQuery(next);
      setShown(null);
    },
    step: (step: 1 | -1) => setShown(stepTo(hits, found, step)),
  };
}
