// Where lanes and nodes are: each lane is laid out for itself, and all stand above each other. Pure.
import type { Edge, Graph, Lane } from "./graph";

export const CARD = { width: 248, height: 112 } as const;
const HEAD = 44;
const PADDING = 20;
const BETWEEN_LANES = 20;
const LEAST_WIDTH = 520;

export interface Point {
  readonly x: number;
  readonly y: number;
}
export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

/** What the nodes of a lane are, and in which order: as long as it is the same, so is the layout. */
export interface LaneShape {
  readonly key: string;
  readonly nodes: readonly string[];
  readonly edges: readonly Edge[];
}

/** A lane laid out: where its nodes are in it. */
export interface LaneLayout {
  readonly width: number;
  readonly height: number;
  readonly nodes: ReadonlyMap<string, Point>;
}

export interface Layout {
  readonly lanes: ReadonlyMap<number, Box>;
  readonly nodes: ReadonlyMap<string, Point>;
}

export function shapeOf(lane: Lane, edges: readonly Edge[]): LaneShape {
  const inside = new Set(lane.nodes);
  const own = edges.filter((edge) => inside.has(edge.from) && inside.has(edge.to));
  return {
    key: JSON.stringify([lane.nodes, own.map((edge) => edge.id)]),
    nodes: lane.nodes,
    edges: own,
  };
}

/** What ELK is asked to lay out. */
export function elkGraphOf({ nodes, edges }: LaneShape) {
  return {
    id: "lane",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": "DOWN",
      "elk.aspectRatio": "2.2",
      "elk.padding": "[top=0,left=0,bottom=0,right=0]",
      "elk.spacing.nodeNode": "24",
      "elk.spacing.componentComponent": "24",
      "elk.layered.spacing.nodeNodeBetweenLayers": "44",
      "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
      "elk.layered.considerModelOrder.components": "MODEL_ORDER",
      "elk.layered.nodePlacement.strategy": "BRANDES_KOEPF",
      "elk.layered.nodePlacement.bk.fixedAlignment": "BALANCED",
    },
    children: nodes.map((id) => ({ id, ...CARD })),
    edges: edges.map(({ id, from, to }) => ({ id, sources: [from], targets: [to] })),
  };
}

interface Placed {
  id: string;
  x?: number;
  y?: number;
}

const GAP = 24;
const LAYER_GAP = 44;
/** The wished width of a lane for its height. */
const ASPECT = 2.2;
const LEAST_COLUMNS = 8;

/** Return how many cards stand side by side at most, so that a lane of so many has the wished form. */
export const columnsFor = (count: number): number =>
  Math.max(
    LEAST_COLUMNS,
    Math.ceil(Math.sqrt((count * ASPECT * (CARD.height + LAYER_GAP)) / (CARD.width + GAP))),
  );

/** Return a lane with each layer that is too wide broken into rows; ELK never breaks a layer. */
export function broken(lane: LaneLayout): LaneLayout {
  const columns = columnsFor(lane.nodes.size);
  const step = CARD.width + GAP;
  if (lane.width <= columns * step) return lane;
  const layers = new Map<number, [string, Point][]>();
  for (const node of lane.nodes) layers.set(node[1].y, [...(layers.get(node[1].y) ?? []), node]);
  const children: Placed[] = [];
  let top = 0;
  for (const y of Array.from(layers.keys()).toSorted((one, other) => one - other)) {
    const layer = (layers.get(y) ?? []).toSorted(([, one], [, other]) => one.x - other.x);
    for (let first = 0; first < layer.length; first += columns) {
      const row = layer.slice(first, first + columns);
      const left = ((columns - row.length) * step) / 2;
      row.forEach(([id], place) => children.push({ id, x: left + place * step, y: top }));
      top += CARD.height + GAP;
    }
    top += LAYER_GAP - GAP;
  }
  return laneLayoutOf({ children });
}

/** Return a lane as ELK has laid it out. */
export function laneLayoutOf(done: { children?: Placed[] }): LaneLayout {
  const nodes = new Map<string, Point>();
  let [width, height] = [0, 0];
  for (const { id, x = 0, y = 0 } of done.children ?? []) {
    nodes.set(id, { x: Math.round(x), y: Math.round(y) });
    width = Math.max(width, x + CARD.width);
    height = Math.max(height, y + CARD.height);
  }
  return { width, height, nodes };
}

/** Return the nodes side by side in rows: what is shown if nothing better is known. */
export function rowsOf({ nodes }: LaneShape): LaneLayout {
  const columns = columnsFor(nodes.length);
  return laneLayoutOf({
    children: nodes.map((id, place) => ({
      id,
      x: (place % columns) * (CARD.width + GAP),
      y: Math.floor(place / columns) * (CARD.height + GAP),
    })),
  });
}

/** Put the lanes of a board above each other; `laid` are their layouts by key. */
export function layoutOf(graph: Graph, laid: ReadonlyMap<string, LaneLayout>): Layout {
  const shapes = graph.lanes.map((lane) => {
    const shape = shapeOf(lane, graph.edges);
    return { index: lane.index, layout: laid.get(shape.key) ?? rowsOf(shape) };
  });
  const inner = Math.max(LEAST_WIDTH, ...shapes.map(({ layout }) => layout.width));
  const width = Math.round(inner + 2 * PADDING);
  const lanes = new Map<number, Box>();
  const nodes = new Map<string, Point>();
  let top = 0;
  for (const { index, layout } of shapes) {
    const height = HEAD + layout.height + (layout.height ? PADDING : 0);
    lanes.set(index, { x: 0, y: top, width, height: Math.round(height) });
    const left = Math.round((width - layout.width) / 2);
    for (const [id, { x, y }] of layout.nodes) nodes.set(id, { x: left + x, y: top + HEAD + y });
    top += height + BETWEEN_LANES;
  }
  return { lanes, nodes };
}

/** Return the box that holds every lane; null if there is none. */
export function boundsOf({ lanes }: Layout): Box | null {
  const boxes = Array.from(lanes.values());
  if (!boxes.length) return null;
  const x = Math.min(...boxes.map((box) => box.x));
  const y = Math.min(...boxes.map((box) => box.y));
  return {
    x,
    y,
    width: Math.max(...boxes.map((box) => box.x + box.width)) - x,
    height: Math.max(...boxes.map((box) => box.y + box.height)) - y,
  };
}
