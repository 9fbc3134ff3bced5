// The Agentic Team: its roles, their turns in a run, and the agents of this login that have roles.
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { type ActionOptions, useAction } from "./actions";
import { api, keyed, type Schemas, take } from "./client";
import { ofAgent, ofHome } from "./keys";
import type { Traffic } from "./traffic";

export type RolesRun = Schemas["RoleTeamRunView"];
export type RoleTurn = Schemas["RoleTurn"];
export type RoleTeam = Schemas["RoleTeamView"];
export type RoleView = Schemas["RoleView"];
export type RolesSection = Schemas["SaveRolesRequest"]["section"];
type CheckTeam = Schemas["CheckRolesRequest"];

/** The turns of the roles in a run, by default the current run. */
export const useRoleTurns = (agent: string, isWanted: boolean, run?: string) =>
  useQuery({
    queryKey: ofAgent(agent, "roles", run),
    enabled: isWanted,
    queryFn: ({ signal }) =>
      take(api.GET("/agents/{agent}/roles", { params: { path: { agent }, query: { run } }, signal })),
  });

/** Return the messages between roles as the graph shows them. */
export const trafficOf = ({ turns, times, edges }: RolesRun): Traffic[] =>
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

/** The agents with roles that the token of this login has created. */
export const useStudioAgents = () =>
  useQuery({
    queryKey: ofHome("agents", "roles"),
    queryFn: ({ signal }) =>
      take(api.GET("/agents", { params: { query: { has_roles: true, mine: true } }, signal })),
  });

/** The team of agents.yaml, with the etag by which it is written. */
export const useRoles = () =>
  useQuery({
    queryKey: ofHome("settings", "roles"),
    queryFn: ({ signal }) => take(api.GET("/roles", { signal })),
    staleTime: 0,
  });

/** Whether these roles can work; null: no request. */
export const useRolesCheck = (asked: CheckTeam | null) =>
  useQuery({
    queryKey: ofHome("settings", "roles", "check", asked),
    enabled: asked !== null,
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: ({ signal }) => take(api.POST("/roles/check", { body: asked ?? {}, signal })),
  });

export const useExternalAgents = () =>
  useQuery({
    queryKey: ofHome("models", "outside"),
    queryFn: ({ signal }) => take(api.GET("/outside", { signal })),
    staleTime: 60_000,
  });

export const useSaveRoles = (options?: ActionOptions<RoleTeam>) =>
  useAction(
    ({ etag, section }: { etag: string; section: RolesSection }, key) =>
      take(
        api.PUT("/roles", {
          params: { header: { "if-match": `"${etag}"`, ...keyed(key) } },
          body: { section },
        }),
      ),
    () => [ofHome("settings")],
    options,
  );
