// What is known of a new agent before it starts: what keeps it, what to know, what it may take.
import { useTranslation } from "react-i18next";

import { Badge, ErrorNote, Icon, Panel, Skeleton } from "~/ui";
import styles from "./new-agent.module.css";
import type { AgentCheck } from "./useAgentCheck";

export function Findings({ check, hasGoal }: { check: AgentCheck; hasGoal: boolean }) {
  const { t } = useTranslation("newAgent");
  const { data, error } = check;
  if (!data) {
    return <Panel title={t("check")}>{error ? <ErrorNote error={error} /> : <Skeleton />}</Panel>;
  }
  const facts: [string, string | number | null][] = [
    [t("calledSo"), data.name],
    [t("withModel"), data.model],
    [t("withWorkers"), data.worker_model],
    [t("nodes"), data.nodes],
    [t("estimate"), data.estimate?.text ?? null],
  ];
  const problems = data.problems.filter(({ field }) => field !== "goal");
  const isReady = hasGoal && problems.length === 0;
  return (
    <Panel
      title={t("check")}
      actions={check.isFetching ? <Badge>{t("checking")}</Badge> : undefined}
    >
      <div className={styles.stack} aria-live="polite">
        <p className={isReady ? styles.good : styles.quiet}>
          {isReady ? t("ready") : hasGoal ? t("notYet") : t("noGoal")}
        </p>
        {problems.length > 0 && (
          <ul className={styles.notes}>
            {problems.map(({ field, detail }) => (
              <li key={`${field} ${detail}`} className={styles.problem}>
                <Icon name="warning" />
                <span>{detail}</span>
              </li>
            ))}
          </ul>
        )}
        <dl className={styles.facts}>
          {facts.map(([name, value]) =>
            value === null ? null : (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
          )}
        </dl>
        {data.warnings.length > 0 && (
          <ul className={styles.notes}>
            {data.warnings.map(({ field, detail }) => (
              <li key={`${field} ${detail}`} className={styles.warning}>
                <Icon name="warning" />
                <span>{detail}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
    </Panel>
  );
}
