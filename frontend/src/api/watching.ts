// What a run looked like from outside: its time lines, and who wrote to whom.
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { api, type Schemas, take } from "./client";
import { ofAgent } from "./keys";

export type Timeline = Schemas["TimelineView"];
export interface Stretch {
  since?: number;
  until?: number;
  resolution_seconds?: number;
}

/** The bars of a run, or those of a stretch of it at its own resolution. */
export const useTimeline = (agent: string, stretch: Stretch = {}, isWanted = true) =>
  useQuery({
    queryKey: ofAgent(agent, "timeline", stretch),
    enabled: isWanted,
    queryFn: ({ signal }) =>
      take(
        api.GET("/agents/{agent}/timeline", {
          params: { path: { agent }, query: stretch },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

export type Traffic = Schemas["TrafficView"];

/** Who wrote to whom in the current run, and how often. */
export const useTraffic = (agent: string, isWanted = true) =>
  useQuery({
    queryKey: ofAgent(agent, "traffic"),
    enabled: isWanted,
    queryFn: ({ signal }) =>
      take(api.GET("/agents/{agent}/communication", { params: { path: { agent } }, signal })),
  });
