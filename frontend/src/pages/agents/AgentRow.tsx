// One agent among all: its goal, its progress, its money, and what can be done with it.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { useArchiveAgent, useSteerAgent } from "~/api/actions";
import type { Schemas } from "~/api/client";
import {
  Age,
  Badge,
  Confirm,
  Icon,
  IconButton,
  Menu,
  type MenuItem,
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
          <Unread count={team.unread} />
          {team.open_questions > 0 && (
            <Badge tone="ask">{t("questions", { count: team.open_questions })}</Badge>
          )}
        </div>
        <p className={styles.goal}>{team.goal}</p>
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
      <Acts team={team} />
    </li>
  );
}

function Acts({ team }: { team: Schemas["TeamView"] }) {
  const { t } = useTranslation("agents");
  const [isAsking, setAsking] = useState(false);
  const steer = useSteerAgent(team.id);
  const archive = useArchiveAgent({ onSuccess: () => setAsking(false) });
  const { name, status } = team;
  const isHeld = status === "paused" || status === "stopped";
  const hasEnded = ["completed", "failed", "stopped"].includes(status);
  const items: (MenuItem | null)[] = [
    isHeld
      ? { key: "resume", icon: "play", label: t("resume"), onSelect: () => steer.act("resume") }
      : {
          key: "pause",
          icon: "pause",
          label: t("pause"),
          onSelect: () => steer.act("pause"),
          isDisabled: hasEnded,
        },
    {
      key: "stop",
      icon: "stop",
      label: t("stop"),
      onSelect: () => steer.act("stop"),
      isDisabled: status === "stopped",
    },
    null,
    {
      key: "archive",
      icon: "folder",
      label: t("archive"),
      onSelect: () => setAsking(true),
      isDangerous: true,
    },
  ];
  return (
    <>
      <Menu
        trigger={<IconButton label={t("actions", { name })} icon={<Icon name="more" />} />}
        items={items}
      />
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={t("archiveTitle", { name })}
        about={t("archiveAbout")}
        act={t("archive")}
        onConfirm={() => archive.act(team.id)}
        isBusy={archive.isPending}
      />
    </>
  );
}
