// The critical path as a list, and all bars as a table.
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { useBoard } from "~/api/queries";
import { Duration, Panel, paths, Table, Time } from "~/ui";
import type { Span, Timeline } from "./lanes";
import styles from "./timeline.module.css";

const MOST_ROWS = 500;

export function Critical({ agent, timeline }: { agent: string; timeline: Timeline }) {
  const { t } = useTranslation("timeline");
  const { data: board } = useBoard(agent);
  const nameOf = (node: string) => board?.nodes.find((one) => one.id === node)?.name ?? node;
  return (
    <Panel title={t("critical")}>
      <p className={styles.quiet}>{timeline.critical.length ? t("criticalAbout") : t("noCritical")}</p>
      <ol className={styles.path}>
        {timeline.critical.map((stretch) => (
          <li key={`${stretch.entity} ${stretch.start}`}>
            <strong>{stretch.entity}</strong>
            {stretch.node === null ? (
              !stretch.wait && <span>{t("own")}</span>
            ) : (
              <Link to={paths.board(agent, stretch.node)}>{nameOf(stretch.node)}</Link>
            )}
            {stretch.wait && <span>{t(`kind.${stretch.wait}`)}</span>}
            <Duration seconds={stretch.end - stretch.start} />
          </li>
        ))}
      </ol>
    </Panel>
  );
}

export function SpanTable({ timeline }: { timeline: Timeline }) {
  const { t } = useTranslation("timeline");
  const rows = timeline.spans.slice(0, MOST_ROWS);
  return (
    <div>
      {timeline.spans.length > MOST_ROWS && (
        <p className={styles.quiet}>{t("more", { count: MOST_ROWS })}</p>
      )}
      <Table<Span>
        label={t("label")}
        rows={rows}
        rowKey={(span) => span.id}
        columns={[
          { key: "entity", label: t("entity"), cell: (span) => span.entity },
          {
            key: "what",
            label: t("what"),
            cell: (span) => `${t(`kind.${span.kind}`)} ${span.name}`,
          },
          { key: "from", label: t("from"), isNumber: true, cell: (span) => <Time at={span.start} /> },
          { key: "took", label: t("took"), isNumber: true, cell: (span) => <Duration seconds={span.seconds} /> },
        ]}
      />
    </div>
  );
}
