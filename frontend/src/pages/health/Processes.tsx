// Every process: how it stands, what it uses, why it was restarted; and steering it.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useNavigate } from "react-router";

import { useMay } from "~/api/access";
import { useSteerEntity } from "~/api/actions";
import { useAgents, useEntities } from "~/api/queries";
import {
  type Column,
  Confirm,
  formatSize,
  Icon,
  IconButton,
  lastPart,
  Loaded,
  Menu,
  Panel,
  paths,
  StatusSign,
  Table,
} from "~/ui";
import styles from "./health.module.css";
import { actsFor, type Entity, grouped, isTroubled, type ProcessAct } from "./processes";

const ICONS = { restart: "retry", pause: "pause", resume: "play", stop: "stop", kill: "close" } as const;
const ASKED: readonly ProcessAct[] = ["stop", "kill"];

export function Processes() {
  const { t } = useTranslation("health");
  const query = useEntities();
  const agents = useAgents();
  const steer = useSteerEntity();
  const [asked, setAsked] = useState<{ row: Entity; act: ProcessAct } | null>(null);
  const act = (row: Entity, what: ProcessAct) =>
    ASKED.includes(what) ? setAsked({ row, act: what }) : steer.act({ entity: row.address, act: what });
  const columns = useColumns(act);
  const nameOf = (agent: string) => agents.data?.find((one) => one.id === agent)?.name ?? agent;
  return (
    <Panel title={t("processes")}>
      <Loaded query={query} lines={8}>
        {(rows) =>
          grouped(rows).map((group) => (
            <section key={group.agent} className={styles.group}>
              <h3>
                {group.agent ? (
                  <Link to={paths.agent(group.agent)}>{nameOf(group.agent)}</Link>
                ) : (
                  t("services")
                )}
              </h3>
              <Table
                label={group.agent ? nameOf(group.agent) : t("services")}
                columns={columns}
                rows={group.rows}
                rowKey={(row) => row.address}
                isFaint={(row) => row.pid === null && !isTroubled(row)}
              />
            </section>
          ))
        }
      </Loaded>
      {asked && (
        <Confirm
          isOpen
          onClose={() => setAsked(null)}
          title={t(`ask_${asked.act as "stop" | "kill"}`, { name: asked.row.name })}
          about={t(`about_${asked.act as "stop" | "kill"}`)}
          act={t(`act_${asked.act}`)}
          isBusy={steer.isPending}
          onConfirm={() =>
            void steer
              .actAsync({ entity: asked.row.address, act: asked.act })
              .finally(() => setAsked(null))
          }
        />
      )}
    </Panel>
  );
}

function useColumns(act: (row: Entity, what: ProcessAct) => void): Column<Entity>[] {
  const { t } = useTranslation("health");
  return [
    { key: "name", label: t("process"), cell: (row) => <Name row={row} /> },
    { key: "state", label: t("state"), cell: (row) => <State row={row} /> },
    { key: "pid", label: "pid", isNumber: true, isMinor: true, cell: (row) => row.pid },
    { key: "cpu", label: "CPU", isNumber: true, isMinor: true, cell: (row) => (row.pid === null ? "" : `${row.cpu.toFixed(1)} %`) },
    { key: "memory", label: t("memory"), isNumber: true, isMinor: true, cell: (row) => (row.memory_bytes ? formatSize(row.memory_bytes) : "") },
    { key: "mailbox", label: t("mailbox"), isNumber: true, isMinor: true, cell: (row) => row.mailbox || "" },
    { key: "restarts", label: t("restarts"), isNumber: true, isMinor: true, cell: (row) => row.restarts || "" },
    { key: "acts", label: <span className="unseen">{t("acts")}</span>, isNumber: true, cell: (row) => <Acts row={row} act={act} /> },
  ];
}

function Name({ row }: { row: Entity }) {
  const [agent, inner] = row.address.split("/", 2);
  const name = row.name || lastPart(row.address);
  if (row.kind !== "worker" && row.kind !== "coordinator") return <strong>{row.address}</strong>;
  return row.kind === "worker" ? (
    <Link to={paths.worker(agent ?? "", inner ?? "")}>{name}</Link>
  ) : (
    <span>{inner}</span>
  );
}

function State({ row }: { row: Entity }) {
  const { t } = useTranslation("health");
  const what = row.doing || row.step;
  return (
    <div className={styles.state}>
      <StatusSign status={row.state} hasWord />
      {what && <span className={styles.doing}>{what}</span>}
      {row.cause && <span className={isTroubled(row) ? styles.cause : styles.doing}>{t("cause", { cause: row.cause })}</span>}
    </div>
  );
}

function Acts({ row, act }: { row: Entity; act: (row: Entity, what: ProcessAct) => void }) {
  const { t } = useTranslation("health");
  const navigate = useNavigate();
  const acts = actsFor(row);
  if (!useMay("control")) return null;
  return (
    <Menu
      trigger={
        <IconButton size="s" label={t("actsOf", { name: row.address })} icon={<Icon name="more" />} />
      }
      items={[
        ...acts.map((what) => ({
          key: what,
          icon: ICONS[what],
          label: t(`act_${what}`),
          isDangerous: ASKED.includes(what),
          onSelect: () => act(row, what),
        })),
        { key: "logs", icon: "events", label: t("logs"), onSelect: () => void navigate(paths.admin("logs", { entity: row.address })) },
      ]}
    />
  );
}
