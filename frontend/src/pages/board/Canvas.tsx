// The canvas: lanes, cards and edges, moved and zoomed; only what is in sight is in the document.
import "@xyflow/react/dist/base.css";
import {
  Background,
  type Edge as FlowEdge,
  getViewportForBounds,
  MiniMap,
  type NodeTypes,
  ReactFlow,
  useReactFlow,
  useStore,
} from "@xyflow/react";
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { classes, Icon, IconButton, lookOf, useKey } from "~/ui";
import styles from "./Canvas.module.css";
import { Card, IsFar, LaneView } from "./Cards";
import { type BoardNode, flowEdgesOf, flowNodesOf, type Shown } from "./flow";
import { type Edge, type Graph, nodeAtWork } from "./graph";
import { boundsOf, CARD, type Layout } from "./layout";

const TYPES: NodeTypes = { card: Card, lane: LaneView };
const FIT = { padding: 0.06, maxZoom: 1.1 } as const;
/** So far out that a chain of some hundred nodes is in sight. */
const LEAST_ZOOM = 0.01;
const READABLE = 0.85;
/** So many nodes need no map. */
const FEW = 8;
const FAR = 0.3;
/** From farther out a card is a dot. */
const VISIBLE = 0.06;
const MOST_AT_ONCE = 1000;
const MOVE_MILLISECONDS = 260;

interface CanvasProps {
  graph: Graph;
  layout: Layout;
  messages: readonly Edge[];
  shown: Shown;
  /** A node that is to be in the middle; another object is another wish. */
  wanted: { node: string } | null;
}

export function Canvas({ graph, layout, messages, shown, wanted }: CanvasProps) {
  const { t } = useTranslation("board");
  const known = useRef<ReadonlyMap<string, BoardNode>>(new Map());
  const nodes = useMemo(() => {
    const made = flowNodesOf(graph, layout, shown, known.current);
    known.current = new Map(made.map((node) => [node.id, node]));
    return made;
  }, [graph, layout, shown, known]);
  const edges = useMemo<FlowEdge[]>(
    () => flowEdgesOf(graph, messages, layout, shown),
    [graph, messages, layout, shown],
  );
  // Until somebody moves it, the whole board is kept in sight as it grows.
  const isKept = useRef(wanted === null);
  const [isFar, setFar] = useState(false);
  return (
    <IsFar value={isFar}>
      <ReactFlow
        onMove={(event) => {
          if (event) isKept.current = false;
        }}
        className={classes(styles.canvas, isFar && styles.far)}
        nodes={nodes}
        edges={edges}
        nodeTypes={TYPES}
        minZoom={LEAST_ZOOM}
        maxZoom={2}
        onlyRenderVisibleElements={!isFar || nodes.length > MOST_AT_ONCE}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        panOnScroll
        zoomOnDoubleClick={false}
        disableKeyboardA11y
        proOptions={{ hideAttribution: true }}
        aria-label={t("graph")}
      >
        {!isFar && <Background gap={24} size={1.2} color="var(--line)" />}
        <Moves graph={graph} layout={layout} wanted={wanted} isKept={isKept} onFar={setFar} />
        {graph.nodes.size > FEW && (
          <MiniMap
            className={styles.map ?? ""}
            nodeClassName={(node) => mapLooks(node as BoardNode)}
            nodeBorderRadius={16}
            ariaLabel={t("map")}
            pannable
            zoomable
          />
        )}
      </ReactFlow>
    </IsFar>
  );
}

const mapLooks = (node: BoardNode): string =>
  node.type === "lane"
    ? (styles.mapLane ?? "")
    : classes(styles.mapCard, styles[lookOf(node.data.node.status).tone]) ?? "";

/** The buttons and keys that move the canvas, and what has it move by itself. */
function Moves({
  graph,
  layout,
  wanted,
  isKept,
  onFar,
}: Pick<CanvasProps, "graph" | "layout" | "wanted"> & {
  isKept: RefObject<boolean>;
  onFar: (isFar: boolean) => void;
}) {
  const { t } = useTranslation("board");
  const { setViewport, zoomIn, zoomOut, setCenter, getZoom, viewportInitialized } = useReactFlow();
  const slow = { duration: MOVE_MILLISECONDS };
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const isFar = useStore((state) => state.transform[2] < FAR);
  const isReady = viewportInitialized && width > 0;
  useEffect(() => onFar(isFar), [isFar, onFar]);
  // React Flow's own fitView waits for the next change of a node, and overrules a node that is wanted.
  const atWork = nodeAtWork(graph);
  const isWhole = useRef(false);
  const show = useCallback(
    (duration: number) => {
      const { padding, maxZoom } = FIT;
      const bounds = boundsOf(layout);
      if (!bounds) return;
      const whole = getViewportForBounds(bounds, width, height, LEAST_ZOOM, maxZoom, padding);
      const at = atWork === null ? undefined : layout.nodes.get(atWork);
      // A long chain would be a line of dots: it is shown where the work is.
      if (!isWhole.current && whole.zoom < VISIBLE && at) {
        void setCenter(at.x + CARD.width / 2, at.y + CARD.height / 2, { zoom: READABLE, duration });
      } else void setViewport(whole, { duration });
    },
    [layout, width, height, atWork, setViewport, setCenter],
  );
  const fit = () => {
    isKept.current = true;
    isWhole.current = true;
    show(MOVE_MILLISECONDS);
  };
  useKey("f", t("fit"), fit);
  useKey("+", t("zoomIn"), () => void zoomIn(slow));
  useKey("-", t("zoomOut"), () => void zoomOut(slow));
  const places = useRef(layout);
  useEffect(() => {
    if (isReady && isKept.current) show(places.current === layout ? 0 : MOVE_MILLISECONDS);
    places.current = layout;
  }, [layout, isReady, isKept, show]);
  const found = useRef<typeof wanted>(null);
  useEffect(() => {
    const at = wanted && places.current.nodes.get(wanted.node);
    if (!at || !isReady || found.current === wanted) return;
    isKept.current = false;
    found.current = wanted;
    const zoom = Math.max(getZoom(), READABLE);
    void setCenter(at.x + CARD.width / 2, at.y + CARD.height / 2, { zoom, duration: MOVE_MILLISECONDS });
  }, [wanted, isReady, setCenter, getZoom, isKept]);
  return (
    <div className={styles.moves} role="group" aria-label={t("moves")}>
      <IconButton label={t("zoomIn")} icon={<Icon name="plus" />} onClick={() => void zoomIn(slow)} />
      <IconButton label={t("zoomOut")} icon={<Icon name="minus" />} onClick={() => void zoomOut(slow)} />
      <IconButton label={t("fit")} icon={<Icon name="fit" />} onClick={fit} />
    </div>
  );
}
