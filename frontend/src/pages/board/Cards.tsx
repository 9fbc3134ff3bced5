// What stands on the board: a card for each node, a lane for each stage.
import type { NodeProps } from "@xyflow/react";
import { createContext, memo, useContext } from "react";
import { useTranslation } from "react-i18next";
import { Link, useLocation } from "react-router";

import {
  classes,
  Duration,
  formatAge,
  lookOf,
  Markdown,
  Money,
  OptionalBadge,
  paths,
  StatusSign,
  Tooltip,
  useAgentId,
  useNow,
} from "~/ui";
import styles from "./Cards.module.css";
import type { CardNode, LaneNode } from "./flow";
import { hasEnded, type NodeView, secondsOf } from "./graph";

/** The board is seen from so far that no text on it can be read. */
export const IsFar = createContext(false);

export const Card = memo(function Card({ data }: NodeProps<CardNode>) {
  const { node, doing, usd, isEstimate, isOpen, isFaint, isNew } = data;
  const { t } = useTranslation("board");
  const agent = useAgentId();
  const { search } = useLocation();
  const tone = lookOf(node.status).tone;
  const isFar = useContext(IsFar);
  const looks = classes(
    styles.card,
    styles[tone],
    isFar && styles.far,
    isOpen && styles.open,
    isFaint && styles.faint,
    isNew && styles.new,
    (node.status === "cancelled" || node.status === "skipped") && styles.over,
  );
  return (
    <Link
      to={{ pathname: paths.board(agent, node.id), search }}
      className={looks}
      draggable={false}
      aria-current={isOpen ? "true" : undefined}
      aria-label={isFar ? node.name : undefined}
      data-node={node.name}
    >
      <Anchors />
      {!isFar && (
        <>
          <span className={styles.head}>
            <StatusSign status={node.status} />
            <span className={styles.name}>{node.name}</span>
            {node.optional && <OptionalBadge />}
            {node.attempt > 1 && (
              <span className={styles.attempt}>{t("attemptShort", { count: node.attempt })}</span>
            )}
          </span>
          <span className={styles.doing}>{textOf(node, doing)}</span>
          <span className={styles.foot}>
            <span className={styles.worker}>{node.assigned_worker ?? node.role}</span>
            <Took node={node} />
            <Money usd={usd} isShort isEstimate={isEstimate} />
          </span>
        </>
      )}
    </Link>
  );
});

/** Where edges begin and end: React Flow reads their places; its own handles follow every move. */
const Anchors = () => (
  <>
    <span className="react-flow__handle react-flow__handle-top target" data-handlepos="top" />
    <span className="react-flow__handle react-flow__handle-bottom source" data-handlepos="bottom" />
  </>
);

/** What a card says: what its worker does, what came of it, else what is to be done. */
const textOf = (node: NodeView, doing: string): string => {
  if (hasEnded(node.status)) return node.result_preview ?? node.task;
  return doing || node.task;
};

function Took({ node }: { node: NodeView }) {
  if (node.status === "running" || node.status === "blocked") return <Ticking node={node} />;
  const seconds = secondsOf(node, 0);
  return seconds === null ? null : <Duration seconds={seconds} />;
}

function Ticking({ node }: { node: NodeView }) {
  const seconds = secondsOf(node, useNow());
  return seconds === null ? null : <span>{formatAge(seconds)}</span>;
}

export const LaneView = memo(function LaneView({ data: { lane } }: NodeProps<LaneNode>) {
  const { t } = useTranslation("board");
  const count = lane.nodes.length;
  return (
    <div className={classes(styles.lane, lane.status === "running" && styles.running)}>
      <header className={styles.laneHead}>
        <h2>{lane.name || t("noStage")}</h2>
        {lane.status && <StatusSign status={lane.status} hasWord />}
        {lane.assessment && (
          <Tooltip text={<Markdown text={lane.assessment} />}>
            <button type="button" className={styles.assessment}>
              {t("assessment")}
            </button>
          </Tooltip>
        )}
        <span className={styles.progress}>
          {count > 0 && (
            <>
              <progress value={lane.ended} max={count} aria-hidden="true" />
              {t("endedOf", { ended: lane.ended, count })}
            </>
          )}
        </span>
      </header>
    </div>
  );
});
