// Who wrote to whom: entities, an arrow for each direction with its count, the texts of the chosen.
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { Link, useSearchParams } from "react-router";

import { useAgent } from "~/api/queries";
import { type RolesRun, trafficOf, useRoleTurns } from "~/api/roles";
import { useTraffic, type Traffic } from "~/api/traffic";
import { classes, Empty, Icon, IconButton, Loaded, Page, paths, Time, useAgentId, useIsNarrow, useKey } from "~/ui";
import { keyOf, pictureOf } from "./circle";
import styles from "./communication.module.css";
import { Picture } from "./Picture";
import { Texts } from "./Texts";
import { Turns } from "./Turns";

export default function Communication() {
  const { t } = useTranslation("communication");
  const agent = useAgentId();
  const hasRoles = useAgent(agent).data?.has_roles ?? false;
  const team = useRoleTurns(agent, hasRoles);
  const query = useTraffic(agent, !hasRoles);
  if (hasRoles)
    return (
      <Page title={t("title")} actions={<Link to={paths.studio(agent)}>{t("studio")}</Link>} isWhole>
        <Loaded query={team} lines={6}>
          {(run) => <Shown agent={agent} traffic={trafficOf(run)} run={run} />}
        </Loaded>
      </Page>
    );
  return (
    <Page title={t("title")} isWhole>
      <Loaded query={query} lines={6}>
        {(traffic) =>
          traffic.length ? (
            <Shown agent={agent} traffic={traffic} />
          ) : (
            <Empty icon="communication" title={t("emptyTitle")}>
              {t("emptyAbout")}
            </Empty>
          )
        }
      </Loaded>
    </Page>
  );
}

interface Choice {
  traffic: readonly Traffic[];
  chosen: Traffic | undefined;
  latest: string;
  onChoose: (pair: Traffic | null) => void;
}

interface ShownProps {
  agent: string;
  traffic: readonly Traffic[];
  run?: RolesRun;
}

function Shown({ agent, traffic, run }: ShownProps) {
  const { t } = useTranslation("communication");
  const [params, setParams] = useSearchParams();
  const isNarrow = useIsNarrow();
  const [from, to] = [params.get("from"), params.get("to")];
  const chosen = traffic.find((one) => one.from === from && one.to === to);
  const last = traffic.toSorted((one, other) => other.last_at - one.last_at)[0];
  const choose = (pair: Traffic | null) =>
    setParams(pair ? { from: pair.from, to: pair.to } : {}, { replace: true });
  const choice = { traffic, chosen, latest: last ? keyOf(last) : "", onChoose: choose };
  useKey("Escape", t("back"), () => choose(null), { isOn: chosen !== undefined });
  return (
    <div className={styles.split}>
      {!isNarrow && <Circle {...choice} />}
      <aside className={styles.side} aria-label={t("texts")}>
        {chosen ? (
          <>
            <header className={styles.sideHead}>
              <h2>{t("fromTo", { from: chosen.from, to: chosen.to })}</h2>
              <IconButton label={t("back")} icon={<Icon name="close" />} onClick={() => choose(null)} />
            </header>
            {run ? <Turns run={run} pair={chosen} /> : <Texts agent={agent} pair={chosen} />}
          </>
        ) : (
          <>
            <Pairs {...choice} />
            {run && <Turns run={run} />}
          </>
        )}
      </aside>
    </div>
  );
}

function Circle({ traffic, chosen, latest, onChoose }: Choice) {
  const { t } = useTranslation("communication");
  const picture = useMemo(() => pictureOf(traffic), [traffic]);
  const pairs = new Map(traffic.map((one) => [keyOf(one), one]));
  return (
    <Picture
      picture={picture}
      chosen={chosen ? keyOf(chosen) : ""}
      latest={latest}
      badgeOf={({ count }) => String(count)}
      titleOf={({ from, to, count }) => t("count", { from, to, count })}
      lookOf={({ wrote, got }) => ({ below: `↑${wrote} ↓${got}` })}
      onChoose={(key) => onChoose(pairs.get(key) ?? null)}
    />
  );
}

/** All pairs as a list: the same for keys and screen readers, and on narrow screens. */
function Pairs({ traffic, latest, onChoose }: Choice) {
  const { t } = useTranslation("communication");
  const sorted = traffic.toSorted((one, other) => other.last_at - one.last_at);
  return (
    <ul className={styles.pairs} aria-label={t("pairs")}>
      {sorted.map((one) => (
        <li key={keyOf(one)}>
          <button type="button" className={styles.pair} onClick={() => onChoose(one)}>
            <span className={styles.pairHead}>
              <b>{one.from}</b>
              <span aria-hidden="true">→</span>
              <span className="unseen">{t("to")}</span>
              <b>{one.to}</b>
              <span className={classes(styles.badge, keyOf(one) === latest && styles.latest)}>
                {one.count}
                <span className="unseen"> {t("messages")}</span>
              </span>
              <span className={styles.time}>
                <Time at={one.last_at} />
              </span>
            </span>
            <span className={styles.lastText}>{one.last_text}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
