// Who wrote to whom: entities, an arrow for each direction with its count, the texts of the chosen.
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useSearchParams } from "react-router";

import { useAgent } from "~/api/queries";
import { type TeamRun, trafficOf, useTeam } from "~/api/team";
import { useTraffic, type Traffic } from "~/api/traffic";
import { classes, Empty, Icon, IconButton, Loaded, Page, Time, useAgentId, useIsNarrow, useKey } from "~/ui";
import { keyOf, PILL, pictureOf } from "./circle";
import styles from "./communication.module.css";
import { Texts } from "./Texts";
import { Turns } from "./Turns";

export default function Communication() {
  const { t } = useTranslation("communication");
  const agent = useAgentId();
  const hasTeam = useAgent(agent).data?.has_team ?? false;
  const team = useTeam(agent, hasTeam);
  const query = useTraffic(agent, !hasTeam);
  if (hasTeam)
    return (
      <Page title={t("title")} isWhole>
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
  run?: TeamRun;
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
      {!isNarrow && <Picture {...choice} />}
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

function Picture({ traffic, chosen, latest, onChoose }: Choice) {
  const { t } = useTranslation("communication");
  const { width, height, places, arrows } = useMemo(() => pictureOf(traffic), [traffic]);
  const chosenKey = chosen && keyOf(chosen);
  const pairs = new Map(traffic.map((one) => [keyOf(one), one]));
  return (
    <div className={styles.picture}>
      <svg viewBox={`0 0 ${width} ${height}`} style={{ maxHeight: height * 1.25 }} aria-hidden="true">
        <defs>
          {["plain", "marked"].map((name) => (
            <marker key={name} id={`arrow-${name}`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">
              <path d="M0 0 8 4 0 8z" className={styles[`${name}Head`]} />
            </marker>
          ))}
        </defs>
        {arrows.map((arrow) => {
          const isMarked = arrow.key === chosenKey || (!chosenKey && arrow.key === latest);
          const looks = classes(
            styles.arrow,
            isMarked && styles.marked,
            chosenKey !== undefined && !isMarked && styles.faint,
          );
          return (
            <g key={arrow.key} className={looks} onClick={() => onChoose(pairs.get(arrow.key) ?? null)}>
              <title>{t("count", { from: arrow.from, to: arrow.to, count: arrow.count })}</title>
              <path d={arrow.path} className={styles.reach} />
              <path
                d={arrow.path}
                className={styles.stroke}
                strokeWidth={1.25 + 1.5 * arrow.weight}
                markerEnd={`url(#arrow-${isMarked ? "marked" : "plain"})`}
              />
              <g transform={`translate(${arrow.at.x} ${arrow.at.y})`}>
                <rect x={-14} y={-11} width={28} height={22} rx={11} />
                <text textAnchor="middle" dominantBaseline="central">
                  {arrow.count}
                </text>
              </g>
            </g>
          );
        })}
        {places.map(({ name, x, y, wrote, got }) => (
          <g key={name} transform={`translate(${x} ${y})`} className={styles.place}>
            <rect x={-PILL.width / 2} y={-PILL.height / 2} width={PILL.width} height={PILL.height} rx={12} />
            <foreignObject x={8 - PILL.width / 2} y={-18} width={PILL.width - 16} height={20}>
              <div className={styles.name} dir="auto">
                {name}
              </div>
            </foreignObject>
            <text textAnchor="middle" y={13} className={styles.sums}>
              ↑{wrote} ↓{got}
            </text>
          </g>
        ))}
      </svg>
    </div>
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
