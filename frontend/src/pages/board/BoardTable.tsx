// The board as a table: for screen readers, for keys, for narrow screens.
import { useTranslation } from "react-i18next";
import { Link, useLocation } from "react-router";

import {
  Badge,
  type Column,
  Duration,
  FailureBadge,
  Money,
  OptionalBadge,
  paths,
  StatusSign,
  Table,
  useAgentId,
  useNow,
} from "~/ui";
import styles from "./board.module.css";
import { type Graph, hasEnded, type NodeView, secondsOf } from "./graph";
import type { Shown } from "./flow";

export function BoardTable({ graph, shown }: { graph: Graph; shown: Shown }) {
  const { t } = useTranslation("board");
  const agent = useAgentId();
  const { search } = useLocation();
  const now = useNow(5);
  const columns: Column<NodeView>[] = [
    {
      key: "name",
      label: t("node"),
      cell: (node) => (
        <span className={styles.cell}>
          <Link
            to={{ pathname: paths.board(agent, node.id), search }}
            aria-current={shown.open === node.id ? "true" : undefined}
          >
            {node.name}
          </Link>
          {node.optional && <OptionalBadge />}
          {node.attempt > 1 && <Badge tone="ask">{t("attemptShort", { count: node.attempt })}</Badge>}
        </span>
      ),
    },
    {
      key: "status",
      label: t("status"),
      cell: (node) => (
        <span className={styles.cell}>
          <StatusSign status={node.status} hasWord />
          <FailureBadge failure={node.failure_class} />
        </span>
      ),
    },
    { key: "worker", label: t("worker"), cell: (node) => <span className={styles.who}>{node.assigned_worker ?? node.role}</span> },
    {
      key: "doing",
      label: t("doing"),
      isMinor: true,
      cell: (node) => (hasEnded(node.status) ? node.result_preview : shown.doing.get(node.id)) ?? "",
    },
    { key: "after", label: t("after"), isMinor: true, cell: (node) => node.dependencies.join(", ") },
    {
      key: "took",
      label: t("took"),
      isNumber: true,
      cell: (node) => {
        const seconds = secondsOf(node, now);
        return seconds === null ? "" : <Duration seconds={seconds} />;
      },
    },
    {
      key: "cost",
      label: t("cost"),
      isNumber: true,
      isMinor: true,
      cell: (node) => {
        const spent = shown.spent.get(node.id);
        return <Money usd={spent?.cost_usd} isEstimate={spent?.is_estimate} />;
      },
    },
  ];
  return (
    <div className={styles.tables}>
      {graph.lanes.map((lane) => {
        const rows = lane.nodes
          .flatMap((id) => graph.nodes.get(id) ?? [])
          .filter((node) => shown.inView === null || shown.inView.has(node.id));
        if (!rows.length && shown.inView !== null) return null;
        const name = lane.name || t("noStage");
        return (
          <section key={lane.index}>
            <header className={styles.laneHead}>
              <h2>{name}</h2>
              {lane.status && <StatusSign status={lane.status} hasWord />}
              <span>{t("endedOf", { ended: lane.ended, count: lane.nodes.length })}</span>
            </header>
            <Table label={name} columns={columns} rows={rows} rowKey={(node) => node.id} />
          </section>
        );
      })}
    </div>
  );
}
