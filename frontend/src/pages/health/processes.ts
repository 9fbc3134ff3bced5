// The processes in the groups in which they are shown, and what can be done with each. Pure.
import type { Schemas } from "~/api/client";

export type Entity = Schemas["EntityView"];

export type ProcessAct = "restart" | "pause" | "resume" | "stop" | "kill";

export interface Group {
  /** The agent's id; '' for the services. */
  agent: string;
  rows: Entity[];
}

/** Return the services first, then each agent's team. */
export function grouped(rows: readonly Entity[]): Group[] {
  const groups = new Map<string, Entity[]>([["", []]]);
  for (const row of rows) {
    const agent = agentOf(row);
    groups.set(agent, [...(groups.get(agent) ?? []), row]);
  }
  return Array.from(groups, ([agent, of]) => ({ agent, rows: of })).filter((one) => one.rows.length);
}

const OF_TEAMS = ["coordinator", "worker"];

const agentOf = (row: Entity): string =>
  OF_TEAMS.includes(row.kind) ? (row.address.split("/", 1)[0] ?? "") : "";

/** Return what may be done with a process as it stands; a service is only ever restarted. */
export function actsFor(row: Entity): ProcessAct[] {
  if (row.kind === "supervisor" || row.kind === "spawner" || row.kind === "console") return [];
  if (!OF_TEAMS.includes(row.kind)) return ["restart"];
  const steer: ProcessAct = row.state === "paused" ? "resume" : "pause";
  return row.pid === null ? ["restart"] : [steer, "restart", "stop", "kill"];
}

/** Whether somebody should look at it. */
export const isTroubled = (row: Entity): boolean =>
  row.state === "backing_off" || row.state === "failed";
