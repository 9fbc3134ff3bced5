// What a node's worker did, step by step.
import { useTranslation } from "react-i18next";

import { useNodeLog } from "~/api/queries";
import { useEventText } from "~/live/eventText";
import { classes, ErrorNote, Skeleton, Time, VirtualList } from "~/ui";
import { type LogLine, logLinesOf } from "./log";
import styles from "./panel.module.css";

interface LogProps {
  agent: string;
  node: string;
  run?: string;
  /** How high it is, where that is not the panel's. */
  className?: string | undefined;
}

export function Log({ agent, node, run, className = styles.log }: LogProps) {
  const { t } = useTranslation("board");
  const query = useNodeLog(agent, node, run);
  const { line: lineOf } = useEventText();
  const lines = logLinesOf(query.data?.pages.flatMap((page) => page.events) ?? [], lineOf);
  if (query.error) return <ErrorNote error={query.error} onRetry={() => void query.refetch()} />;
  if (!query.data) return <Skeleton />;
  if (!lines.length) return <p className={styles.faint}>{t("noLog")}</p>;
  return (
    <div className={className}>
      <VirtualList
        rows={lines}
        rowKey={(line) => line.seq}
        label={t("log")}
        estimate={44}
        onNearEnd={() => {
          if (query.hasNextPage && !query.isFetching) void query.fetchNextPage();
        }}
      >
        {(line) => <Line line={line} />}
      </VirtualList>
    </div>
  );
}

function Line({ line }: { line: LogLine }) {
  return (
    <div className={classes(styles.line, line.isBad && styles.lineBad)}>
      <span className={styles.lineTime}>
        <Time at={line.at} />
      </span>
      <span className={styles.lineSign} aria-hidden="true">
        {line.sign}
      </span>
      <div className={styles.lineText}>
        {line.text}
      </div>
    </div>
  );
}
