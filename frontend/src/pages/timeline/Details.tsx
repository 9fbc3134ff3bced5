// What the bar under the pointer, or the chosen one, is.
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { Duration, paths, Time } from "~/ui";
import type { Bar } from "./rows";
import styles from "./timeline.module.css";

interface DetailsProps {
  agent: string;
  bar: Bar | null;
  start: number;
  now: number;
}

export function Details({ agent, bar, start, now }: DetailsProps) {
  const { t } = useTranslation("timeline");
  if (!bar) return <p className={styles.details}>{t("hint")}</p>;
  const { span } = bar;
  return (
    <p className={styles.details} role="status">
      <b>{span.entity}</b>
      <span>
        {t(`kind_${span.kind}`)} {span.count > 1 && `${span.count} × `}
        <b>{span.name}</b>
      </span>
      <Time at={span.start} />
      <span>+{(span.start - start).toFixed(1)} s</span>
      <Duration seconds={span.end === null ? now - span.start : span.seconds} />
      {span.end === null && <span>{t("lasts")}</span>}
      {span.is_critical && <span className={styles.onPath}>{t("critical")}</span>}
      {span.problem && <span className={styles.problem}>{span.problem}</span>}
      {span.node && <Link to={paths.board(agent, span.node)}>{t("toNode")}</Link>}
    </p>
  );
}
