// The same bars as a table.
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { type Column, Duration, Icon, paths, Table, Time } from "~/ui";
import type { Span } from "./rows";
import styles from "./timeline.module.css";

interface SpanTableProps {
  agent: string;
  spans: readonly Span[];
  start: number;
  now: number;
}

const MOST = 500;

export function SpanTable({ agent, spans, now }: SpanTableProps) {
  const { t } = useTranslation("timeline");
  const rows = spans.toSorted((one, other) => one.start - other.start).slice(-MOST);
  const columns: Column<Span>[] = [
    { key: "entity", label: t("entity"), cell: (span) => span.entity },
    { key: "kind", label: t("kind"), cell: (span) => t(`kind_${span.kind}`) },
    {
      key: "name",
      label: t("what"),
      cell: (span) => (
        <>
          {span.count > 1 && `${span.count} × `}
          {span.node ? <Link to={paths.board(agent, span.node)}>{span.name}</Link> : span.name}
          {span.problem && <span className={styles.problem}> {span.problem}</span>}
        </>
      ),
    },
    { key: "start", label: t("start"), isMinor: true, cell: (span) => <Time at={span.start} /> },
    {
      key: "took",
      label: t("took"),
      isNumber: true,
      cell: (span) => <Duration seconds={span.end === null ? now - span.start : span.seconds} />,
    },
    {
      key: "critical",
      label: t("critical"),
      isMinor: true,
      cell: (span) => span.is_critical && <><Icon name="check" /><span className="unseen">{t("yes")}</span></>,
    },
  ];
  return (
    <div className={styles.tableFrame}>
      {spans.length > MOST && <p className={styles.details}>{t("latest", { count: MOST })}</p>}
      <Table label={t("title")} columns={columns} rows={rows} rowKey={(span) => span.id} />
    </div>
  );
}
