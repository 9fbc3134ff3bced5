// A search over the runs of all agents.
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { api, type Schemas, take } from "./client";
import { ofHome } from "./keys";

export type FoundRun = Schemas["FoundRunView"];
export type RunStatus = "running" | "completed" | "failed" | "stopped";
export type RunOrder = "newest" | "oldest" | "longest" | "costliest" | "name";

export const RUN_STATUSES: readonly RunStatus[] = ["running", "completed", "failed", "stopped"];
export const RUN_ORDERS: readonly RunOrder[] = ["newest", "oldest", "longest", "costliest", "name"];

/** The first runs that have these words (and this status, if not ''), and how many there are. */
export const useFoundRuns = (q: string, status: RunStatus | "", order: RunOrder, limit: number) =>
  useQuery({
    queryKey: ofHome("all-runs", q, status, order, limit),
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      take(
        api.GET("/runs", {
          params: { query: { q, status: status ? [status] : [], order, limit } },
          signal,
        }),
      ),
  });
