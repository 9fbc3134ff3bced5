// The facts of a node: who does it, with what, since when, for how much; and why it failed.
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import type { Schemas } from "~/api/client";
import { useUsage, useWorkers } from "~/api/queries";
import { Duration, FailureCause, Icon, Money, paths, Time, Tokens, useNow } from "~/ui";
import { secondsOf } from "../graph";
import styles from "./panel.module.css";

export type NodeDetail = Schemas["NodeDetailView"];
export interface OfNode {
  agent: string;
  node: NodeDetail;
}

export function Facts({ agent, node }: OfNode) {
  const { t } = useTranslation("board");
  const { data: workers } = useWorkers(agent);
  const { data: usage } = useUsage({ agent, by: "node" });
  const worker = workers?.find((one) => one.name === node.assigned_worker);
  const spent = usage?.rows.find((row) => row.key === node.id);
  const now = useNow();
  const seconds = secondsOf(node, now);
  const doing = worker?.node_id === node.id ? worker.doing || worker.step : "";
  return (
    <>
      {node.reason && <Failure node={node} />}
      <FailureCause failure={node.failure_class} />
      {node.move && <Move agent={agent} node={node} />}
      {doing && (
        <p className={styles.doing}>
          <span className={styles.dot} aria-hidden="true" />
          {doing}
        </p>
      )}
      <dl className={styles.facts}>
        <Fact label={t("worker")}>
          {worker ? (
            <Link to={paths.worker(agent, worker.id)}>{worker.name}</Link>
          ) : (
            (node.assigned_worker ?? t("nobody"))
          )}
        </Fact>
        <Fact label={t("model")}>{node.model ?? worker?.model}</Fact>
        <Fact label={t("attempt")}>{node.attempt || null}</Fact>
        <Fact label={t("began")}>{node.started_at && <Time at={node.started_at} />}</Fact>
        <Fact label={t("ended")}>{node.ended_at && <Time at={node.ended_at} />}</Fact>
        <Fact label={t("took")}>{seconds !== null && <Duration seconds={seconds} />}</Fact>
        <Fact label={t("cost")}>
          {spent && spent.usage.cost_usd != null && <Money usd={spent.usage.cost_usd} isEstimate={spent.usage.is_estimate} />}
        </Fact>
        <Fact label={t("tokens")}>
          {spent && (
            <Tokens
              count={spent.usage.input_tokens + spent.usage.output_tokens}
              isShort
              isEstimate={spent.usage.is_estimate}
            />
          )}
        </Fact>
      </dl>
    </>
  );
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  if (children === null || children === undefined || children === false || children === "") return null;
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Failure({ node }: { node: NodeDetail }) {
  const { t } = useTranslation("board");
  const isFailed = node.status === "failed";
  return (
    <section className={isFailed ? styles.failure : styles.note} aria-label={t("reason")}>
      <Icon name={isFailed ? "warning" : "stop"} />
      <div>
        <p>{node.reason}</p>
        {node.details && (
          <details>
            <summary>{t("lastLines")}</summary>
            <pre tabIndex={0}>{node.details}</pre>
          </details>
        )}
      </div>
    </section>
  );
}

function Move({ agent, node }: OfNode) {
  const { t } = useTranslation("board");
  const { data: workers } = useWorkers(agent);
  if (!node.move) return null;
  const { worker, model } = node.move;
  const name = workers?.find((one) => one.id === worker)?.name ?? worker;
  return (
    <p className={styles.doing} role="status">
      {t("movesTo", { to: [name, model].filter(Boolean).join(", ") })}
    </p>
  );
}
