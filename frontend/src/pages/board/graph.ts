// The board as a graph: lanes, nodes and edges, and who leads to whom. Pure.
import type { Schemas } from "~/api/client";

export type BoardView = Schemas["BoardView"];
export type NodeView = Schemas["NodeView"];
export type Traffic = Pick<Schemas["TrafficView"], "from" | "to" | "count">;

/** A node waits for another one, reads its result, is a part of it, or its worker wrote to it. */
export type EdgeKind = "dependency" | "ref" | "part" | "message";

export interface Edge {
  readonly id: string;
  readonly kind: EdgeKind;
  /** Ids of nodes: what comes first, and what follows it. */
  readonly from: string;
  readonly to: string;
  /** How many messages; 0 for other kinds. */
  readonly count: number;
}

export interface Lane {
  readonly index: number;
  readonly name: string;
  readonly status: string;
  readonly assessment: string | null;
  /** Ids of its nodes, in the order in which they were made. */
  readonly nodes: readonly string[];
  readonly ended: number;
}

export interface Graph {
  readonly lanes: readonly Lane[];
  readonly nodes: ReadonlyMap<string, NodeView>;
  readonly edges: readonly Edge[];
}

const ENDED = new Set(["completed", "failed", "cancelled", "skipped"]);
export const hasEnded = (status: string): boolean => ENDED.has(status);

const AT_WORK = [["running", "blocked", "assigned"], ["ready", "pending"]] as const;

/** Return the id of the node that shows best how far a board is: the first at work, or the next one. */
export function nodeAtWork({ nodes }: Graph): string | null {
  const all = [...nodes.values()];
  for (const statuses of AT_WORK) {
    const found = all.find(({ status }) => (statuses as readonly string[]).includes(status));
    if (found) return found.id;
  }
  return all.at(-1)?.id ?? null;
}

/** Return the graph of a board. */
export function graphOf(board: BoardView): Graph {
  const nodes = new Map(board.nodes.map((node) => [node.id, node]));
  return { lanes: lanesOf(board), nodes, edges: edgesOf(board.nodes) };
}

function lanesOf(board: BoardView): Lane[] {
  const byStage = new Map<number, NodeView[]>();
  for (const node of board.nodes) {
    const stage = board.stages[node.stage] ? node.stage : -1;
    byStage.set(stage, [...(byStage.get(stage) ?? []), node]);
  }
  const lane = (index: number): Lane => {
    const stage = board.stages[index];
    const nodes = byStage.get(index) ?? [];
    return {
      index,
      name: stage?.name ?? "",
      status: stage?.status ?? "",
      assessment: stage?.assessment ?? null,
      nodes: nodes.map((node) => node.id),
      ended: nodes.filter((node) => hasEnded(node.status)).length,
    };
  };
  const indices = board.stages.map((_, index) => index);
  return (byStage.has(-1) ? [-1, ...indices] : indices).map(lane);
}

function edgesOf(nodes: readonly NodeView[]): Edge[] {
  const byName = new Map(nodes.map((node) => [node.name, node.id]));
  const byFolder = new Map(nodes.map((node) => [node.name, node.id]));
  const edges = new Map<string, Edge>();
  const add = (kind: EdgeKind, from: string | undefined, to: string) => {
    if (from === undefined || from === to) return;
    const id = `${from} ${to}`;
    if (!edges.has(id)) edges.set(id, { id, kind, from, to, count: 0 });
  };
  for (const node of nodes) {
    for (const name of node.dependencies) add("dependency", byName.get(name), node.id);
  }
  for (const node of nodes) {
    if (node.parent_node !== null) add("part", byName.get(node.parent_node), node.id);
    for (const path of Object.values(node.refs)) add("ref", byFolder.get(folderOf(path)), node.id);
  }
  return Array.from(edges.values());
}

/** Return the folder of the node whose file a reference names: `nodes/FOLDER/published/x`. */
const folderOf = (path: string): string => /^nodes\/([^/]+)\//.exec(path)?.[1] ?? "";

/** Return edges for what workers wrote to each other, between the nodes that they last held. */
export function messageEdges(nodes: readonly NodeView[], traffic: readonly Traffic[]): Edge[] {
  const lastOf = new Map<string, NodeView>();
  for (const node of nodes) {
    const worker = node.assigned_worker;
    if (worker === null) continue;
    const known = lastOf.get(worker);
    const isLater = !known || (hasEnded(known.status) && beganAt(node) >= beganAt(known));
    if (isLater) lastOf.set(worker, node);
  }
  return traffic.flatMap(({ from, to, count }) => {
    const [first, second] = [lastOf.get(from)?.id, lastOf.get(to)?.id];
    if (first === undefined || second === undefined || first === second) return [];
    return [{ id: `message ${first} ${second}`, kind: "message", from: first, to: second, count }];
  });
}

const beganAt = (node: NodeView) => node.started_at ?? node.created_at;

/** Return a node with all that it came of and all that follows of it. */
export function relatedTo(node: string, edges: readonly Edge[]): Set<string> {
  const reached = (ahead: boolean) => {
    const next = new Map<string, string[]>();
    for (const edge of edges) {
      const [at, to] = ahead ? [edge.from, edge.to] : [edge.to, edge.from];
      next.set(at, [...(next.get(at) ?? []), to]);
    }
    const found = new Set([node]);
    for (const id of found) next.get(id)?.forEach((one) => found.add(one));
    return found;
  };
  return new Set([...reached(true), ...reached(false)]);
}

/** Return the nodes that a person may mean by these words, in the order of the board. */
export function nodesFor(words: string, nodes: Iterable<NodeView>): NodeView[] {
  const wanted = words.trim().toLowerCase().split(/\s+/);
  if (!wanted[0]) return [];
  return Array.from(nodes).filter((node) => {
    const text = [node.name, node.id, node.role, node.assigned_worker, node.status, ...node.labels]
      .join(" ")
      .toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

/** How long a node took, or has taken so far; null before it began. */
export function secondsOf(node: NodeView, now: number): number | null {
  if (node.started_at === null) return null;
  const end = node.ended_at ?? (hasEnded(node.status) ? null : now);
  return end === null ? null : Math.max(0, end - node.started_at);
}

/**
 * Return how many nodes could run now and wait only because `most` nodes run already; 0 if fewer run.
 */
export function heldBack(board: BoardView): number {
  const most = board.max_concurrent;
  const running = board.nodes.filter(({ status }) => status === "running" || status === "assigned");
  if (most == null || running.length < most) return 0;
  const ended = new Set(board.nodes.filter(({ status }) => hasEnded(status)).map(({ name }) => name));
  const isReady = (node: NodeView) =>
    node.status === "pending" &&
    node.stage <= Math.max(0, board.current_stage) &&
    node.dependencies.every((name) => ended.has(name));
  return board.nodes.filter(isReady).length;
}

/** Return how many nodes stand how, in the order in which a node goes through them. */
export function countByStatus(nodes: Iterable<NodeView>): [string, number][] {
  const counts = new Map(
    [
      "pending",
      "assigned",
      "running",
      "blocked",
      "completed",
      "failed",
      "cancelled",
      "skipped",
    ].map((status) => [status, 0]),
  );
  for (const { status } of nodes) counts.set(status, (counts.get(status) ?? 0) + 1);
  return Array.from(counts).filter(([, count]) => count > 0);
}
