import { expect, test } from "vitest";

import { flowEdgesOf, flowNodesOf, type Shown } from "./flow";
import {
  type BoardView,
  countByStatus,
  graphOf,
  heldBack,
  messageEdges,
  nodeAtWork,
  type NodeView,
  nodesFor,
  relatedTo,
  secondsOf,
} from "./graph";
import { boundsOf, broken, CARD, columnsFor, laneLayoutOf, layoutOf, rowsOf, shapeOf } from "./layout";

const node = (name: string, more: Partial<NodeView> = {}): NodeView =>
  ({
    id: `n-${name}`,
    name,
    role: "worker",
    status: "pending",
    assigned_worker: null,
    dependencies: [],
    refs: {},
    labels: [],
    parent_node: null,
    stage: 0,
    created_at: 1,
    started_at: null,
    ended_at: null,
    ...more,
  }) as NodeView;

const stage = (name: string, nodes: string[] = []) => ({
  name,
  nodes,
  status: "running",
  assessment: null,
});

const board = (nodes: NodeView[], stages = [stage("gather"), stage("write")]): BoardView =>
  ({ run: "r", seq: 1, nodes, stages, current_stage: stages.length - 1 }) as BoardView;

const chain = board([
  node("a", { status: "completed" }),
  node("b", { dependencies: ["a"], refs: { x: "nodes/a/published/x.md" } }),
  node("c", { stage: 1, refs: { b: "nodes/b/published" } }),
  node("d", { parent_node: "c", stage: 1 }),
]);

test("nodes are in the lanes of their stages, and each pair has one edge", () => {
  const graph = graphOf(chain);
  expect(graph.lanes.map((lane) => [lane.name, lane.nodes, lane.ended])).toEqual([
    ["gather", ["n-a", "n-b"], 1],
    ["write", ["n-c", "n-d"], 0],
  ]);
  expect(graph.edges.map(({ kind, from, to }) => [kind, from, to])).toEqual([
    ["dependency", "n-a", "n-b"],
    ["ref", "n-b", "n-c"],
    ["part", "n-c", "n-d"],
  ]);
});

test("a node of no stage has a lane without a name; what is not there has no edge", () => {
  const graph = graphOf(board([node("a", { dependencies: ["gone", "a"] })], []));
  expect(graph.lanes).toMatchObject([{ index: -1, name: "", nodes: ["n-a"] }]);
  expect(graph.edges).toEqual([]);
});

test("what a node came of and what follows of it, not what is beside it", () => {
  const { edges } = graphOf(
    board([
      node("a"),
      node("b", { dependencies: ["a"] }),
      node("side", { dependencies: ["a"] }),
      node("c", { dependencies: ["b"] }),
    ]),
  );
  expect(relatedTo("n-b", edges)).toEqual(new Set(["n-a", "n-b", "n-c"]));
});

test("messages are edges between the nodes that their workers hold or held last", () => {
  const nodes = [
    node("old", { assigned_worker: "ada", status: "completed", started_at: 1 }),
    node("now", { assigned_worker: "ada", status: "running", started_at: 2 }),
    node("other", { assigned_worker: "bob", status: "completed", started_at: 3 }),
  ];
  const found = messageEdges(nodes, [
    { from: "ada", to: "bob", count: 3 },
    { from: "coordinator", to: "bob", count: 1 },
  ]);
  expect(found).toMatchObject([{ from: "n-now", to: "n-other", kind: "message", count: 3 }]);
});

test("a person finds nodes by any of their words", () => {
  const nodes = [node("pricing", { assigned_worker: "Ada" }), node("market", { labels: ["price"] })];
  expect(nodesFor("PRIC", nodes).map((one) => one.name)).toEqual(["pricing", "market"]);
  expect(nodesFor("pric ada", nodes).map((one) => one.name)).toEqual(["pricing"]);
  expect(nodesFor("  ", nodes)).toEqual([]);
});

test("times and counts", () => {
  expect(secondsOf(node("a"), 9)).toBeNull();
  expect(secondsOf(node("a", { status: "running", started_at: 4 }), 9)).toBe(5);
  expect(secondsOf(node("a", { status: "failed", started_at: 4, ended_at: 6 }), 9)).toBe(2);
  expect(countByStatus(chain.nodes)).toEqual([
    ["pending", 3],
    ["completed", 1],
  ]);
});

const laidOut = (view: BoardView) => {
  const graph = graphOf(view);
  const shapes = graph.lanes.map((lane) => shapeOf(lane, graph.edges));
  return layoutOf(graph, new Map(shapes.map((shape) => [shape.key, rowsOf(shape)])));
};

test("lanes stand above each other, as wide as the widest, and hold their nodes", () => {
  const { lanes, nodes } = laidOut(chain);
  const [first, second] = [lanes.get(0), lanes.get(1)];
  if (!first || !second) throw new Error("lanes are missing");
  expect(second.y).toBeGreaterThanOrEqual(first.y + first.height);
  expect(second.width).toBe(first.width);
  for (const id of ["n-c", "n-d"]) {
    const at = nodes.get(id);
    expect(at && at.y > second.y && at.y + CARD.height <= second.y + second.height).toBe(true);
  }
});

test("how a node stands does not change the shape of its lane, another node does", () => {
  const key = (view: BoardView) => {
    const graph = graphOf(view);
    return graph.lanes.map((lane) => shapeOf(lane, graph.edges).key);
  };
  const later = { ...chain, nodes: chain.nodes.map((one) => ({ ...one, status: "completed" })) };
  expect(key(later)).toEqual(key(chain));
  const more = board([...chain.nodes, node("e", { stage: 1 })]);
  expect(key(more)[0]).toBe(key(chain)[0]);
  expect(key(more)[1]).not.toBe(key(chain)[1]);
});

test("a board before its first stage has no bounds, another one those of its lanes", () => {
  expect(boundsOf(laidOut(board([], [])))).toBeNull();
  const layout = laidOut(chain);
  const [first, last] = [layout.lanes.get(0), layout.lanes.get(1)];
  expect(boundsOf(layout)).toEqual({ x: 0, y: 0, width: first?.width, height: (last?.y ?? 0) + (last?.height ?? 0) });
});

test("an empty lane is a line of its own", () => {
  expect(laneLayoutOf({ children: [] })).toMatchObject({ width: 0, height: 0 });
});

const shown = (more: Partial<Shown> = {}): Shown => ({
  doing: new Map(),
  spent: new Map(),
  open: null,
  inView: null,
  added: new Set(),
  ...more,
});

test("only the cards that changed are made anew", () => {
  const layout = laidOut(chain);
  const first = flowNodesOf(graphOf(chain), layout, shown(), new Map());
  const known = new Map(first.map((one) => [one.id, one]));
  const next = { ...chain, nodes: [...chain.nodes] };
  next.nodes[1] = node("b", { ...chain.nodes[1], status: "running" });
  const second = flowNodesOf(graphOf(next), layout, shown(), known);
  expect(second.filter((one) => known.get(one.id) !== one).map((one) => one.id)).toEqual(["n-b"]);
  const open = flowNodesOf(graphOf(chain), layout, shown({ open: "n-a" }), known);
  expect(open.filter((one) => known.get(one.id) !== one).map((one) => one.id)).toEqual(["n-a"]);
});

test("edges of the open node are marked, those of others that are not looked at are faint", () => {
  const graph = graphOf(chain);
  const looks = { open: "n-b", inView: new Set(["n-a", "n-b"]) };
  const edges = flowEdgesOf(graph, [], laidOut(chain), looks);
  expect(edges.map((edge) => edge.className)).toEqual([
    "dependency marked",
    "ref faint",
    "part faint",
  ]);
  const heads = edges.map(({ markerEnd }) => (typeof markerEnd === "object" ? markerEnd.color : ""));
  expect(heads).toEqual(["var(--accent)", "var(--edge)", "var(--edge)"]);
});

test("a layer of many nodes is broken into rows of a lane that can be read", () => {
  const leaves = Array.from({ length: 299 }, (_, place) => ({ id: `n-${place}`, x: place * 272, y: 156 }));
  const lane = broken(laneLayoutOf({ children: [{ id: "root", x: 40_000, y: 0 }, ...leaves] }));
  const rows = new Set(Array.from(lane.nodes.values(), ({ y }) => y));
  expect(lane.nodes.size).toBe(300);
  expect(lane.width).toBeLessThanOrEqual(columnsFor(300) * 272);
  expect(rows.size).toBe(1 + Math.ceil(299 / columnsFor(300)));
  expect(lane.width / lane.height).toBeGreaterThan(1);
  const places = new Set(Array.from(lane.nodes.values(), ({ x, y }) => `${x} ${y}`));
  expect(places.size).toBe(300);
  const small = laneLayoutOf({ children: leaves.slice(0, 5) });
  expect(broken(small)).toBe(small);
});

test("ready nodes are held back only while as many run as may", () => {
  const nodes = [
    node("done", { status: "completed" }),
    node("one", { status: "running" }),
    node("two", { status: "assigned" }),
    node("ready", { dependencies: ["done"] }),
    node("waits", { dependencies: ["one"] }),
    node("later", { stage: 1 }),
  ];
  const of = (most: number | null) => heldBack({ ...board(nodes, [stage("gather")]), max_concurrent: most });
  expect([of(2), of(3), of(null)]).toEqual([1, 0, 0]);
});

test("a board that is too long to be seen whole is shown where the work is", () => {
  const at = (...statuses: string[]) =>
    nodeAtWork(graphOf(board(statuses.map((status, place) => node(`n${place}`, { status })))));
  expect(at("completed", "pending", "running", "running")).toBe("n-n2");
  expect(at("completed", "pending", "pending")).toBe("n-n1");
  expect(at("completed", "failed")).toBe("n-n1");
  expect(at()).toBeNull();
});
