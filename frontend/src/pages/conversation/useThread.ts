// The thread of a conversation as items, older ones on demand.
import { useCallback, useEffect, useMemo } from "react";

import { useThreadEntries } from "~/api/stretches";
import { itemOf } from "./items";

export function useThread(agent: string, entity: string, isAll: boolean) {
  const thread = useThreadEntries(agent, entity, isAll);
  const { entries, hasPreviousPage, isFetchingPreviousPage, fetchPreviousPage } = thread;
  const items = useMemo(() => {
    const all = entries.map(itemOf);
    return isAll ? all : all.filter((item) => item.is !== "heard");
  }, [entries, isAll]);
  const messages = useMemo(
    () => items.flatMap((item) => (item.is === "message" ? [item.message] : [])),
    [items],
  );
  const loadOlder = useCallback(() => {
    // Without an older page this would count as a fetch, draw the page again, and so ask again.
    if (hasPreviousPage && !isFetchingPreviousPage) void fetchPreviousPage();
  }, [hasPreviousPage, isFetchingPreviousPage, fetchPreviousPage]);
  const isEmpty = thread.data?.pages[0]?.entries.length === 0;
  useEffect(() => {
    if (isEmpty && !thread.isError) loadOlder(); // a page looks at a part of the log
  }, [isEmpty, thread.isError, loadOlder]);
  return {
    items,
    messages,
    isPending: thread.isPending,
    error: thread.error,
    retry: () => void thread.refetch(),
    hasOlder: hasPreviousPage,
    isLoadingOlder: isFetchingPreviousPage,
    loadOlder,
  };
}
