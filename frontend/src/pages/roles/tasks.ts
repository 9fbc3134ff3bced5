// An agent of the Studio: its tasks, the messages between roles in one of them, and the cost of each turn. Pure.
import type { Schemas } from "~/api/client";
import type { RolesRun, RoleTurn } from "~/api/roles";

type Run = Schemas["RunView"];
type Node = Schemas["NodeView"];
type EarlierTask = Schemas["EarlierTask"];

export const USER = "user";
const MOST_EARLIER = 20;
const LONGEST_OUTPUT = 20_000;

export interface Pair {
  readonly from: string;
  readonly to: string;
}

/** How often one role has written to another, and how its arrow is marked. */
export interface Edge extends Pair {
  readonly key: string;
  readonly count: number;
  readonly isFinal: boolean;
  readonly isLatest: boolean;
  readonly isSelected: boolean;
}

export const keyOf = ({ from, to }: Pair): string => `${from} → ${to}`;

/** Return who wrote to whom, in the order of the first message; what nobody wrote selects nothing. */
export const edgesOf = (run: RolesRun, selected: Pair | null): Edge[] =>
  run.edges.map(({ from_role: from, to_role: to, count, action, latest }) => ({
    key: keyOf({ from, to }),
    from,
    to,
    count,
    isFinal: action === "finalize",
    isLatest: latest,
    isSelected: selected?.from === from && selected.to === to,
  }));

/** `2×`; the last word to the person is `finalize`. */
export const badgeOf = ({ isFinal, count }: Pick<Edge, "isFinal" | "count">): string =>
  isFinal ? "finalize" : `${count}×`;

/** One turn with what it took; `nodes` are its attempts on the board, the fallback's last. */
export interface TurnRow {
  readonly turn: RoleTurn;
  readonly endedAt: number | null;
  readonly seconds: number | null;
  readonly nodes: readonly string[];
}

/** Return the turns of a run, or those from one role to another, oldest first. */
export function rowsOf(run: RolesRun, nodes: readonly Node[], only: Pair | null): TurnRow[] {
  const rows = run.turns.map((turn, place): TurnRow => {
    const attempts = attemptsAt(turn.turn, nodes);
    const began = attempts.map((node) => node.started_at).find((at) => at != null);
    const ended = run.times[place] ?? null;
    return {
      turn,
      endedAt: ended,
      seconds: began != null && ended !== null ? Math.max(0, ended - began) : null,
      nodes: attempts.map((node) => node.id),
    };
  });
  if (!only) return rows;
  return rows.filter(({ turn }) => turn.from_role === only.from && turn.to_role === only.to);
}

/** Return the attempts at a turn that are on the board: of the role's own agent, of its fallback. */
export const attemptsAt = (turn: number, nodes: readonly Node[]): Node[] =>
  [`turn-${turn}`, `turn-${turn}-fallback`].flatMap((name) => nodes.find((node) => node.name === name) ?? []);

/** Return the roles that failed in their last turn. */
export function failedRoles(run: RolesRun): Set<string> {
  const last = new Map(run.turns.map((turn) => [turn.from_role, turn.success]));
  return new Set(Array.from(last).flatMap(([role, success]) => (success ? [] : [role])));
}

/** Return what a next task is told of the ones before, the last of them. */
export const earlierOf = (runs: readonly Run[]): EarlierTask[] =>
  runs
    .filter((run) => run.has_roles && run.status !== "running")
    .slice(-MOST_EARLIER)
    .map((run) => ({ task: run.goal, output: (run.result ?? run.reason ?? "").slice(0, LONGEST_OUTPUT) }));

/** What does the work of a role that names no agent is the run's model. */
export const agentOf = (turn: RoleTurn, workerModel: string): string =>
  turn.from_agent === "default" ? workerModel : turn.from_agent;

/** A role's name as people read it. */
export const spoken = (role: string): string => role.replaceAll("_", " ");
