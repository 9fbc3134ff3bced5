// The runs of all agents: searched by words, narrowed by status, in an order of one's choice.
import { useDeferredValue, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { type FoundRun, RUN_ORDERS, RUN_STATUSES, type RunOrder, type RunStatus, useFoundRuns } from "~/api/runs";
import {
  Badge, Button, Duration, Empty, FailureBadge, Incomplete, Loaded, Money, paths, Select, StatusSign, Time, Tokens,
  useNow, useQuery, useStatusName,
} from "~/ui";
import styles from "./agents.module.css";

const FIRST = 50;
const MOST = 1000;

export function Runs({ words }: { words: string }) {
  const { t } = useTranslation("agents");
  const statusName = useStatusName();
  const [query, setQuery] = useQuery();
  const [limit, setLimit] = useState(FIRST);
  const order = RUN_ORDERS.find((one) => one === query.get("order")) ?? "newest";
  const status = RUN_STATUSES.find((one) => one === query.get("status")) ?? "";
  const found = useFoundRuns(useDeferredValue(words.trim()), status, order, limit);
  return (
    <>
      <div className={styles.chooser}>
        <Select label={t("runStatus")} value={status} onChange={(event) => setQuery({ status: event.target.value as RunStatus })}>
          <option value="">{t("anyStatus")}</option>
          {RUN_STATUSES.map((one) => (
            <option key={one} value={one}>
              {statusName(one)}
            </option>
          ))}
        </Select>
        <Select label={t("order")} value={order} onChange={(event) => setQuery({ order: event.target.value as RunOrder })}>
          {RUN_ORDERS.map((one) => (
            <option key={one} value={one}>
              {t(`order_${one}`)}
            </option>
          ))}
        </Select>
      </div>
      <Loaded query={found} lines={6}>
        {({ runs, total }) =>
          runs.length ? (
            <>
              <p className={styles.facts} role="status">
                {t("foundRuns", { count: total })}
              </p>
              <ul className={styles.list}>
                {runs.map((run) => (
                  <RunRow key={`${run.agent} ${run.id}`} run={run} />
                ))}
              </ul>
              {runs.length < total && limit < MOST && (
                <Button isBusy={found.isFetching} onClick={() => setLimit(Math.min(MOST, limit * 4))}>
                  {t("moreRuns")}
                </Button>
              )}
            </>
          ) : (
            <Empty icon="search" title={t("noRuns")}>
              {t("noRunsAbout")}
            </Empty>
          )
        }
      </Loaded>
    </>
  );
}

function RunRow({ run }: { run: FoundRun }) {
  const { t } = useTranslation("agents");
  const now = useNow(run.ended_at === null ? 1 : 60);
  return (
    <li className={styles.row}>
      <div className={styles.what}>
        <div className={styles.name}>
          <h2>
            <Link to={paths.result(run.agent, run.is_current ? "" : run.id)}>{run.agent_name}</Link>
          </h2>
          <StatusSign status={run.status} hasWord />
          <FailureBadge failure={run.failure_class} />
          <Incomplete nodes={run.incomplete} isShort />
          {run.is_current && <Badge>{t("lastRun")}</Badge>}
        </div>
        <p className={styles.goal}>{run.goal}</p>
        {run.snippet && <p className={styles.snippet}>{run.snippet}</p>}
        <p className={styles.facts}>
          <Time at={run.started_at} form="full" />
          <span>
            {t("took")} <Duration seconds={(run.ended_at ?? now) - run.started_at} />
          </span>
        </p>
      </div>
      <div className={styles.spent}>
        <Money usd={run.cost_usd} isEstimate={run.is_estimate} />
        <span className={styles.faint}>
          <Tokens count={run.tokens} isEstimate={run.is_estimate} />
        </span>
      </div>
    </li>
  );
}
