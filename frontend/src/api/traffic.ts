// What a run looked like from outside: who wrote to whom.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { api, type Schemas, take } from "./client";
import { ofAgent } from "./keys";

export type Traffic = Schemas["TrafficView"];

/** Who wrote to whom in the current run, and how often. */
export const useTraffic = (agent: string, isWanted = true) =>
  useQuery({
    queryKey: ofAgent(agent, "traffic"),
    enabled: isWanted,
    queryFn: ({ signal }) =>
      take(api.GET("/agents/{agent}/communication", { params: { path: { agent } }, signal })),
  });

export const TEXTS = 200;

/** What two entities wrote to each other, oldest first; `fetchNextPage` adds older ones. */
export function useTexts(agent: string, entity: string, other: string) {
  const query = useInfiniteQuery({
    queryKey: ofAgent(agent, "messages", entity, other),
    initialPageParam: 2 ** 53,
    queryFn: ({ pageParam: before, signal }) =>
      take(
        api.GET("/agents/{agent}/messages", {
          params: { path: { agent }, query: { entity, other, before, limit: TEXTS } },
          signal,
        }),
      ),
    getNextPageParam: (page) => (page.length < TEXTS ? undefined : page[0]?.seq),
  });
  const texts = useMemo(() => query.data?.pages.toReversed().flat() ?? [], [query.data]);
  return { ...query, texts };
}
