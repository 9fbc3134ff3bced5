// One agent in the sidebar: its head, its coordinator, its workers, its pages.
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { NavLink } from "react-router";

import type { Schemas } from "~/api/client";
import { classes, Icon, isRetired, Money, paths, StatusSign, Tokens, Unread } from "~/ui";
import { AGENT_PAGES } from "~/ui/paths";
import { byActivity, LISTED } from "./groups";
import styles from "./Sidebar.module.css";

type Team = Schemas["TeamView"];
type Unreads = Readonly<Record<string, number>>;

interface AgentGroupProps {
  team: Team;
  /** How many messages of each entity, by its name, are unread. */
  unread: Unreads;
  isOpen: boolean;
  onToggle: (isOpen: boolean) => void;
}

export function AgentGroup({ team, unread, isOpen, onToggle }: AgentGroupProps) {
  const { t } = useTranslation("app");
  const id = useId();
  const { name } = team;
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
        <NavLink to={paths.agent(team.id)} end className={styles.agent} title={team.goal}>
          <span className={styles.agentName}>{name}</span>
          <span className={styles.numbers}>
            <Money usd={team.cost_usd} isShort isEstimate={team.is_estimate} />
          </span>
          <StatusSign status={team.status} />
        </NavLink>
        {!isOpen && <Unread count={team.unread} />}
      </div>
      <div id={id} hidden={!isOpen}>
        {isOpen && <Members team={team} unread={unread} />}
      </div>
    </section>
  );
}

function Members({ team, unread }: { team: Team; unread: Unreads }) {
  const { t } = useTranslation("app");
  const [hasRetired, showRetired] = useState(false);
  const left = team.workers.filter((worker) => isRetired(worker.status));
  const there = team.workers.filter((worker) => !isRetired(worker.status));
  const [isWhole, setWhole] = useState(false);
  const ordered = byActivity(there);
  const listed = isWhole ? ordered : ordered.slice(0, LISTED);
  const shown = hasRetired ? [...listed, ...left] : listed;
  return (
    <>
      <ul>
        <Member
          to={paths.agent(team.id)}
          name={t("coordinator")}
          status={team.status}
          doing={team.doing}
          unread={unread["coordinator"] ?? 0}
          isCoordinator
        />
        {shown.map((worker) => (
          <Member
            key={worker.id}
            to={paths.entity(team.id, worker.name)}
            name={worker.name}
            role={worker.role}
            status={worker.status}
            doing={worker.doing || worker.node || ""}
            unread={unread[worker.name] ?? worker.unread}
            tokens={worker.tokens}
            cost={worker.cost_usd}
            isEstimate={worker.is_estimate}
            hasLeft={isRetired(worker.status)}
          />
        ))}
        {listed.length < there.length && (
          <li>
            <button type="button" className={styles.more} onClick={() => setWhole(true)}>
              {t("allWorkers", { count: there.length })}
            </button>
          </li>
        )}
        {left.length > 0 && !hasRetired && (
          <li>
            <button type="button" className={styles.more} onClick={() => showRetired(true)}>
              {t("retired", { count: left.length })}
            </button>
          </li>
        )}
      </ul>
      <ul className={styles.pages}>
        {AGENT_PAGES.map(([page, icon]) => (
          <li key={page}>
            <NavLink to={paths[page](team.id)} className={styles.page}>
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
  doing: string;
  unread: number;
  tokens?: number | null;
  cost?: number | null;
  isEstimate?: boolean;
  isCoordinator?: boolean;
  hasLeft?: boolean;
}

function Member(member: MemberProps) {
  const { to, name, role, status, doing, unread, tokens, cost, isEstimate, isCoordinator, hasLeft } = member;
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
          {doing && !hasLeft && (
            <span className={styles.doing} title={doing}>
              {doing}
            </span>
          )}
        </span>
        <span className={styles.numbers}>
          <Unread count={unread} />
          {tokens ? <Tokens count={tokens} isShort isEstimate={isEstimate} /> : null}
          <Money usd={cost} isShort isEstimate={isEstimate} />
        </span>
      </NavLink>
    </li>
  );
}
