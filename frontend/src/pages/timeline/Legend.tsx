// What the colours of the bars mean, and all that is known of the one that was chosen.
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { Badge, classes, Duration, Icon, IconButton, Panel, paths, Time } from "~/ui";
import type { Span } from "./lanes";
import styles from "./timeline.module.css";

const KINDS = ["node", "outside", "model", "tool", "wait", "human", "paused", "down"] as const;

export function Legend() {
  const { t } = useTranslation("timeline");
  return (
    <ul className={styles.legend}>
      {KINDS.map((kind) => (
        <li key={kind}>
          <i className={classes(styles.sample, styles[kind])} aria-hidden="true" />
          {t(`kind.${kind}`)}
        </li>
      ))}
      <li>
        <i className={classes(styles.sample, styles.node, styles.isCritical)} aria-hidden="true" />
        {t("critical")}
      </li>
    </ul>
  );
}

export function Chosen({ agent, span, onClose }: { agent: string; span: Span; onClose: () => void }) {
  const { t } = useTranslation("timeline");
  const { t: common } = useTranslation("common");
  return (
    <Panel
      title={span.name}
      actions={<IconButton size="s" label={common("close")} icon={<Icon name="close" />} onClick={onClose} />}
    >
      <p className={styles.about}>
        <Badge>{t(`kind.${span.kind}`)}</Badge>
        <Link to={span.entity === "coordinator" ? paths.agent(agent) : paths.worker(agent, span.entity)}>
          {span.entity}
        </Link>
        <Time at={span.start} />
        <Duration seconds={span.seconds} />
        {span.end === null && <span>{t("lasts")}</span>}
        {span.count > 1 && <span>{t("count", { count: span.count })}</span>}
        {span.is_critical && <Badge tone="ask">{t("critical")}</Badge>}
        {span.node !== null && <Link to={paths.board(agent, span.node)}>{t("toNode")}</Link>}
      </p>
      {span.problem && <p className={styles.problem}>{span.problem}</p>}
    </Panel>
  );
}
