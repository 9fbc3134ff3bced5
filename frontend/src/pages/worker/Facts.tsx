// A worker's role, model and money; its process as the supervisor sees it.
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import type { Schemas } from "~/api/client";
import { Age, formatSize, Money, Panel, StatusSign, Tokens } from "~/ui";
import styles from "./worker.module.css";

function List({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value]) =>
        value === null || value === "" ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

export function About({ worker }: { worker: Schemas["WorkerView"] }) {
  const { t } = useTranslation("worker");
  const doing = worker.doing && (
    <>
      {worker.doing} {worker.doing_since !== null && <Age at={worker.doing_since} />}
    </>
  );
  const spent = worker.tokens !== null && (
    <>
      <Tokens count={worker.tokens} isEstimate={worker.is_estimate} />{" "}
      <Money usd={worker.cost_usd} isEstimate={worker.is_estimate} />
    </>
  );
  return (
    <Panel title={t("about")}>
      <List
        facts={[
          [t("role"), worker.role],
          [t("model"), worker.model],
          [t("type"), worker.type],
          [t("doing"), doing],
          [t("spent"), spent || null],
        ]}
      />
    </Panel>
  );
}

export function Process({ row }: { row: Schemas["EntityView"] | undefined }) {
  const { t } = useTranslation("worker");
  if (!row) {
    return (
      <Panel title={t("process")}>
        <p className={styles.quiet}>{t("noProcess")}</p>
      </Panel>
    );
  }
  return (
    <Panel title={t("process")} actions={<StatusSign status={row.state} hasWord />}>
      <List
        facts={[
          [t("pid"), row.pid],
          [t("incarnation"), row.incarnation],
          [t("cpu"), row.pid === null ? null : `${row.cpu.toFixed(1)} %`],
          [t("ram"), row.memory_bytes ? formatSize(row.memory_bytes) : null],
          [t("mailbox"), row.mailbox],
          [t("restarts"), row.restarts],
          [t("cause"), row.cause],
        ]}
      />
    </Panel>
  );
}
