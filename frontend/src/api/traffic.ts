// What a run looked like from outside: who wrote to whom.
import { useQuery } from "@tanstack/react-query";

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
