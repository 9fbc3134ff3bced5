// The Agentic Team: its roles, what they have said in a run, the sessions of who is logged in.
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { type ActionOptions, useAction } from "./actions";
import { api, keyed, type Schemas, take } from "./client";
import { ofAgent, ofHome } from "./keys";
import type { Traffic } from "./traffic";

export type TeamRun = Schemas["RoleTeamRunView"];
export type RoleTurn = Schemas["RoleTurn"];
export type Team = Schemas["RoleTeamView"];
export type TeamRole = Schemas["RoleView"];
export type TeamSection = Schemas["SaveRolesRequest"]["section"];
type CheckTeam = Schemas["CheckRolesRequest"];

/** What the team of a run has said, by default of the current one. */
export const useTeam = (agent: string, isWanted: boolean, run?: string) =>
  useQuery({
    queryKey: ofAgent(agent, "team", run),
    enabled: isWanted,
    queryFn: ({ signal }) =>
      take(api.GET("/agents/{agent}/team", { params: { path: { agent }, query: { run } }, signal })),
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

/** The agents whose team works for who is logged in: those that their token has created. */
export const useTeamSessions = () =>
  useQuery({
    queryKey: ofHome("agents", "sessions"),
    queryFn: ({ signal }) =>
      take(api.GET("/agents", { params: { query: { has_team: true, mine: true } }, signal })),
  });

/** The team of agents.yaml, with the etag by which it is written. */
export const useTeamRoles = () =>
  useQuery({
    queryKey: ofHome("settings", "team"),
    queryFn: ({ signal }) => take(api.GET("/team", { signal })),
    staleTime: 0,
  });

/** Whether a team could work; null asks nothing. */
export const useTeamCheck = (asked: CheckTeam | null) =>
  useQuery({
    queryKey: ofHome("settings", "team", "check", asked),
    enabled: asked !== null,
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: ({ signal }) => take(api.POST("/team/check", { body: asked ?? {}, signal })),
  });

export const useExternalAgents = () =>
  useQuery({
    queryKey: ofHome("models", "outside"),
    queryFn: ({ signal }) => take(api.GET("/outside", { signal })),
    staleTime: 60_000,
  });

export const useSaveTeam = (options?: ActionOptions<Team>) =>
  useAction(
    ({ etag, section }: { etag: string; section: TeamSection }, key) =>
      take(
        api.PUT("/team", {
          params: { header: { "if-match": `"${etag}"`, ...keyed(key) } },
          body: { section },
        }),
      ),
    () => [ofHome("settings")],
    options,
  );
