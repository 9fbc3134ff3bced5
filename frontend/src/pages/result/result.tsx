// The result of a run: the whole answer, what it cost, its files and its checks.
import { useTranslation } from "react-i18next";
import { useSearchParams } from "react-router";

import type { Schemas } from "~/api/client";
import { resultZipUrl, useDelivered } from "~/api/delivered";
import { useRuns, useUsage } from "~/api/queries";
import {
  Duration, Empty, FailureCause, Icon, Incomplete, Loaded, Markdown, Money, Page, Panel, Select, StatusSign, Time, Tokens,
  useAgentId, useNow,
} from "~/ui";
import { Checks } from "./Checks";
import { Files } from "./Files";
import styles from "./result.module.css";

type Run = Schemas["RunView"];

const ANSWER = "_output.md";

export default function Result() {
  const { t } = useTranslation("result");
  const agent = useAgentId();
  const runs = useRuns(agent);
  const [search] = useSearchParams();
  const named = search.get("run");
  const all = runs.data ?? [];
  const run = named ? all.find((one) => one.id === named) : all.at(-1);
  const actions = run && (
    <>
      <Runs runs={all} run={run} />
      <a className={styles.save} href={resultZipUrl(agent, run.id)} download>
        <Icon name="download" />
        {t("saveAll")}
      </a>
    </>
  );
  return (
    <Page title={t("title")} about={run && <About agent={agent} run={run} />} actions={actions}>
      <Loaded query={runs} lines={8}>
        {() => (run ? <Whole key={run.id} agent={agent} run={run} /> : <Empty icon="file" title={t("noRun")} />)}
      </Loaded>
    </Page>
  );
}

function Runs({ runs, run }: { runs: readonly Run[]; run: Run }) {
  const { t } = useTranslation("result");
  const [, setSearch] = useSearchParams();
  if (runs.length < 2) return null;
  const last = runs.at(-1)?.id;
  return (
    <Select
      label={t("run")}
      isLabelUnseen
      value={run.id}
      onChange={({ target: { value } }) => setSearch(value === last ? {} : { run: value })}
    >
      {runs.toReversed().map(({ id, goal }) => (
        <option key={id} value={id} title={goal}>
          {id === last ? t("lastRun") : `${id.slice(0, 15)} ${goal.length > 40 ? `${goal.slice(0, 40)}…` : goal}`}
        </option>
      ))}
    </Select>
  );
}

/** How the run stands, how long it took, and what it cost. */
function About({ agent, run }: { agent: string; run: Run }) {
  const { t } = useTranslation("result");
  const { data: usage } = useUsage({ agent, run: run.id });
  const now = useNow(1);
  return (
    <>
      <StatusSign status={run.status} hasWord />
      <span>
        {t("took")} <Duration seconds={(run.ended_at ?? now) - run.started_at} />
      </span>
      <Time at={run.ended_at ?? run.started_at} />
      {usage && (
        <>
          <Tokens count={usage.total.input_tokens + usage.total.output_tokens} />
          <Money usd={usage.total.cost_usd} />
        </>
      )}
    </>
  );
}

function Whole({ agent, run }: { agent: string; run: Run }) {
  const { t } = useTranslation("result");
  const delivered = useDelivered(agent, run.id);
  return (
    <div className={styles.sections}>
      {run.reason && <p className={styles.reason}>{run.reason}</p>}
      <FailureCause failure={run.failure_class} />
      <Incomplete nodes={run.incomplete} />
      <Panel title={t("answer")}>
        {run.result ? <Markdown text={run.result} /> : <p className={styles.faint}>{t(run.ended_at ? "noAnswer" : "noAnswerYet")}</p>}
      </Panel>
      <Panel title={t("files")}>
        <Loaded query={delivered}>
          {({ files }) => <Files agent={agent} run={run.id} files={files.filter((one) => one.name !== ANSWER)} />}
        </Loaded>
      </Panel>
      <Panel title={t("checks")}>
        <Loaded query={delivered}>{({ checks }) => <Checks agent={agent} nodes={checks} />}</Loaded>
      </Panel>
    </div>
  );
}
