// One agent in the sidebar: its head, its coordinator, its workers, its pages.
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { NavLink } from "react-router";

import type { Schemas } from "~/api/client";
import { useAgent, useWorkers } from "~/api/queries";
import {
  classes,
  Icon,
  isRetired,
  Money,
  paths,
  StatusSign,
  Tokens,
  Unread,
} from "~/ui";
import { AGENT_PAGES } from "~/ui/paths";
import styles from "./Sidebar.module.css";

type Entity = Schemas["EntityView"];
type Worker = Schemas["WorkerView"];

interface AgentGroupProps {
  agent: Schemas["AgentView"];
  entities: readonly Entity[];
  inbox: Schemas["InboxView"] | undefined;
  isOpen: boolean;
  onToggle: (isOpen: boolean) => void;
}

export function AgentGroup({ agent, entities, inbox, isOpen, onToggle }: AgentGroupProps) {
  const { t } = useTranslation("app");
  const id = useId();
  const { name } = agent;
  return (
    <section className={styles.group} aria-label={name}>
      <div className={styles.head}>
        <button
          type="button"
          className={classes(styles.toggle, isOpen && styles.isOpen)}
          aria-expanded={isOpen}
          aria-controls={id}
          aria-label={t(isOpen ? "hide" : "show", { name })}
          onClick={() => onToggle(!isOpen)}
        >
          <Icon name="chevron" size={14} />
        </button>
        <NavLink to={paths.agent(agent.id)} end className={styles.agent} title={agent.goal}>
          <span className={styles.agentName}>{name}</span>
          <StatusSign status={agent.status} />
        </NavLink>
        {!isOpen && <Unread count={agent.unread} />}
      </div>
      <div id={id} hidden={!isOpen}>
        {isOpen && <Team agent={agent} entities={entities} inbox={inbox} />}
      </div>
    </section>
  );
}

function Team({ agent, entities, inbox }: Pick<AgentGroupProps, "agent" | "entities" | "inbox">) {
  const { t } = useTranslation("app");
  const [hasRetired, showRetired] = useState(false);
  const { data: workers = [] } = useWorkers(agent.id);
  const { data: view = agent } = useAgent(agent.id);
  const row = (address: string) => entities.find((one) => one.address === address);
  const unread = inbox?.by_entity ?? {};
  const left = workers.filter((worker) => isRetired(worker.status));
  const there = workers.filter((worker) => !isRetired(worker.status));
  const member = (worker: Worker) => (
    <Member
      key={worker.id}
      to={paths.entity(agent.id, worker.name)}
      name={worker.name}
      role={worker.role}
      status={worker.status}
      row={row(worker.address)}
      doing={worker.step || worker.node || ""}
      unread={unread[worker.name] ?? worker.unread}
      hasLeft={isRetired(worker.status)}
    />
  );
  const coordinator = row(`${agent.id}/coordinator`);
  return (
    <>
      <ul>
        <Member
          to={paths.agent(agent.id)}
          name={t("coordinator")}
          status={coordinator ? view.status : agent.status}
          row={coordinator}
          doing=""
          unread={unread["coordinator"] ?? 0}
          isCoordinator
        />
        {there.map(member)}
        {hasRetired && left.map(member)}
        {left.length > 0 && !hasRetired && (
          <li>
            <button type="button" className={styles.more} onClick={() => showRetired(true)}>
              {t("retired", { count: left.length })}
            </button>
          </li>
        )}
      </ul>
      {view.tokens !== null && (
        <p className={styles.spent}>
          <Tokens count={view.tokens} /> <Money usd={view.cost_usd} />
        </p>
      )}
      <ul className={styles.pages}>
        {AGENT_PAGES.map(([page, icon]) => (
          <li key={page}>
            <NavLink to={paths[page](agent.id)} className={styles.page}>
              <Icon name={icon} />
              {t(page)}
            </NavLink>
          </li>
        ))}
      </ul>
    </>
  );
}

interface MemberProps {
  to: string;
  name: string;
  role?: string;
  status: string;
  row: Entity | undefined;
  doing: string;
  unread: number;
  isCoordinator?: boolean;
  hasLeft?: boolean;
}

function Member({ to, name, role, status, row, doing, unread, isCoordinator, hasLeft }: MemberProps) {
  const now = row?.doing || doing;
  return (
    <li>
      <NavLink to={to} end className={classes(styles.member, hasLeft && styles.isRetired)}>
        <StatusSign status={status} />
        <span className={styles.who}>
          <span className={styles.memberName}>
            {isCoordinator && <span aria-hidden="true">★ </span>}
            {name}
            {role && <span className={styles.role}> {role}</span>}
          </span>
          {now && !hasLeft && (
            <span className={styles.doing} title={now}>
              {now}
            </span>
          )}
        </span>
        <span className={styles.numbers}>
          <Unread count={unread} />
          {row && row.tokens > 0 && <Tokens count={row.tokens} isShort />}
          {row && <Money usd={row.cost_usd} isShort />}
        </span>
      </NavLink>
    </li>
  );
}
