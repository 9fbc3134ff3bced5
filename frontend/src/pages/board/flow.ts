// What the canvas shows: the graph and its layout as nodes and edges of React Flow, kept where
// nothing changed, so that only what changed is drawn anew. Pure.
import { type Edge as FlowEdge, MarkerType, type Node as FlowNode, Position } from "@xyflow/react";

import type { Schemas } from "~/api/client";
import type { Edge, Graph, Lane, NodeView } from "./graph";
import { CARD, type Layout } from "./layout";

export interface CardData extends Record<string, unknown> {
  node: NodeView;
  /** What its worker does now; "" if nothing is known. */
  doing: string;
  usd: number | null;
  /** The service has not counted all of it. */
  isEstimate: boolean;
  isOpen: boolean;
  /** Others are looked at. */
  isFaint: boolean;
  isNew: boolean;
}
export interface LaneData extends Record<string, unknown> {
  lane: Lane;
}
export type CardNode = FlowNode<CardData, "card">;
export type LaneNode = FlowNode<LaneData, "lane">;
export type BoardNode = CardNode | LaneNode;

export interface Shown {
  readonly doing: ReadonlyMap<string, string>;
  readonly spent: ReadonlyMap<string, Schemas["Usage"]>;
  readonly open: string | null;
  /** Ids of the nodes that are looked at; null for all. */
  readonly inView: ReadonlySet<string> | null;
  /** Ids of those that are new since the page was opened. */
  readonly added: ReadonlySet<string>;
}

const FIXED = { draggable: false, selectable: false, connectable: false, focusable: false } as const;
const HANDLES = [
  { type: "target", position: Position.Top, x: CARD.width / 2, y: 0, width: 1, height: 1 },
  { type: "source", position: Position.Bottom, x: CARD.width / 2, y: CARD.height, width: 1, height: 1 },
] satisfies FlowNode["handles"];

const isSame = <T extends Record<string, unknown>>(one: T, other: T): boolean =>
  Object.keys(one).every((key) => one[key] === other[key]);

/** Return lanes and cards; those of `before` that are still true are returned as they are. */
export function flowNodesOf(
  graph: Graph,
  layout: Layout,
  shown: Shown,
  before: ReadonlyMap<string, BoardNode>,
): BoardNode[] {
  const kept = <N extends BoardNode>(made: N): N => {
    const known = before.get(made.id) as N | undefined;
    const isStill =
      known !== undefined &&
      known.position.x === made.position.x &&
      known.position.y === made.position.y &&
      known.width === made.width &&
      known.height === made.height &&
      isSame<Record<string, unknown>>(known.data, made.data);
    return isStill ? known : made;
  };
  const lanes = graph.lanes.flatMap((lane): LaneNode[] => {
    const box = layout.lanes.get(lane.index);
    if (!box) return [];
    const { width, height, x, y } = box;
    const known = before.get(`lane ${lane.index}`) as LaneNode | undefined;
    const same = known && isSameLane(known.data.lane, lane) ? known.data.lane : lane;
    return [
      kept<LaneNode>({
        ...FIXED,
        id: `lane ${lane.index}`,
        type: "lane",
        position: { x, y },
        width,
        height,
        zIndex: -2,
        data: { lane: same },
      }),
    ];
  });
  const cards = Array.from(graph.nodes.values()).flatMap((node): CardNode[] => {
    const place = layout.nodes.get(node.id);
    if (!place) return [];
    return [
      kept<CardNode>({
        ...FIXED,
        id: node.id,
        type: "card",
        position: { x: place.x, y: place.y },
        ...CARD,
        handles: HANDLES,
        data: {
          node,
          doing: shown.doing.get(node.id) ?? "",
          usd: shown.spent.get(node.id)?.cost_usd ?? null,
          isEstimate: shown.spent.get(node.id)?.is_estimate ?? false,
          isOpen: shown.open === node.id,
          isFaint: shown.inView !== null && !shown.inView.has(node.id),
          isNew: shown.added.has(node.id),
        },
      }),
    ];
  });
  return [...lanes, ...cards];
}

const isSameLane = (one: Lane, other: Lane): boolean =>
  one.name === other.name &&
  one.status === other.status &&
  one.assessment === other.assessment &&
  one.ended === other.ended &&
  one.nodes.length === other.nodes.length;

/** Return edges with the classes that they are drawn by; moving ones lead to what is worked on. */
export function flowEdgesOf(
  graph: Graph,
  messages: readonly Edge[],
  layout: Layout,
  { open, inView }: Pick<Shown, "open" | "inView">,
): FlowEdge[] {
  return [...graph.edges, ...messages].flatMap((edge): FlowEdge[] => {
    if (!layout.nodes.has(edge.from) || !layout.nodes.has(edge.to)) return [];
    const isFaint = inView !== null && !(inView.has(edge.from) && inView.has(edge.to));
    const isMarked = !isFaint && (edge.from === open || edge.to === open);
    const isLive = graph.nodes.get(edge.to)?.status === "running";
    const color = `var(--${isMarked || edge.kind === "message" ? "accent" : isLive ? "busy" : "edge"})`;
    const looks = [edge.kind, isFaint && "faint", isMarked && "marked", isLive && "live"];
    return [
      {
        id: edge.id,
        source: edge.from,
        target: edge.to,
        className: looks.filter(Boolean).join(" "),
        markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16, color },
        selectable: false,
        focusable: false,
        zIndex: isMarked ? 1 : edge.kind === "message" ? 2 : -1,
        ...(edge.count ? { label: String(edge.count), labelBgPadding: [7, 3] as [number, number] } : {}),
      },
    ];
  });
}
