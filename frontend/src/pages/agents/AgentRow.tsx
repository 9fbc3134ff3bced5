// One agent among all: its goal, its progress, its money, and what can be done with it.
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import type { Schemas } from "~/api/client";
import { AgentMenu } from "~/app/AgentMenu";
import {
  Age,
  Badge,
  FailureBadge,
  Incomplete,
  Money,
  paths,
  StatusSign,
  Tokens,
  Unread,
} from "~/ui";
import styles from "./agents.module.css";

export function AgentRow({ team }: { team: Schemas["TeamView"] }) {
  const { t } = useTranslation("agents");
  const { name } = team;
  const there = team.workers.filter((worker) => worker.status !== "stopped").length;
  return (
    <li className={styles.row}>
      <div className={styles.what}>
        <div className={styles.name}>
          <h2>
            <Link to={paths.agent(team.id)}>{name}</Link>
          </h2>
          <StatusSign status={team.status} hasWord />
          <FailureBadge failure={team.failure_class} />
          <Incomplete nodes={team.incomplete} isShort />
          <Unread count={team.unread} />
          {team.open_questions > 0 && (
            <Badge tone="ask">{t("questions", { count: team.open_questions })}</Badge>
          )}
        </div>
        <p className={styles.goal}>{team.goal}</p>
        {team.outage && <p className={styles.outage}>{team.reason}</p>}
        <p className={styles.facts}>
          {team.node_count > 0 && (
            <span className={styles.progress}>
              <progress value={team.nodes_ended} max={team.node_count} aria-hidden="true" />
              {t("nodes", { ended: team.nodes_ended, count: team.node_count })}
            </span>
          )}
          {there > 0 && <span>{t("workers", { count: there })}</span>}
          {team.mode === "infinite" && <span>{t("cycle", { cycle: team.cycle })}</span>}
          {team.doing && <span className={styles.doing}>{team.doing}</span>}
        </p>
      </div>
      <div className={styles.spent}>
        <Money usd={team.cost_usd} isEstimate={team.is_estimate} />
        <span className={styles.faint}>
          <Tokens count={team.tokens} isEstimate={team.is_estimate} />
        </span>
        <span className={styles.faint}>
          <Age at={team.updated_at} />
        </span>
      </div>
      <AgentMenu agent={team} label={t("actions", { name })} />
    </li>
  );
}
