// What the roles of an Agentic Team have said, and who wrote to whom.
import { useQuery } from "@tanstack/react-query";

import { api, type Schemas, take } from "./client";
import { ofAgent } from "./keys";
import type { Traffic } from "./traffic";

export type TeamRun = Schemas["TeamRunView"];
export type TeamTurn = Schemas["TeamTurn"];

export const useTeam = (agent: string, isWanted: boolean) =>
  useQuery({
    queryKey: ofAgent(agent, "team"),
    enabled: isWanted,
    queryFn: ({ signal }) =>
      take(api.GET("/agents/{agent}/team", { params: { path: { agent } }, signal })),
  });

/** Return who wrote to whom as the picture shows it. */
export const trafficOf = ({ turns, times, edges }: TeamRun): Traffic[] =>
  edges.map(({ from_role: from, to_role: to, count }) => {
    const last = turns.findLastIndex((turn) => turn.from_role === from && turn.to_role === to);
    return {
      from,
      to,
      count,
      last_seq: last,
      last_at: times[last] ?? 0,
      last_text: turns[last]?.message ?? "",
    };
  });
