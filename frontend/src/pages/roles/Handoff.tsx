// The log of a hand-off: what the role's worker did in that turn, how long, for how much.
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import type { Schemas } from "~/api/client";
import { useUsage } from "~/api/queries";
import type { RolesRun } from "~/api/roles";
import { secondsOf } from "~/pages/board/graph";
import { Log } from "~/pages/board/panel/Log";
import { Duration, Money, paths, StatusSign, Tokens, useNow } from "~/ui";
import { spoken } from "./tasks";
import styles from "./roles.module.css";

type Node = Schemas["NodeView"];

interface HandoffProps {
  agent: string;
  run: RolesRun;
  turn: number;
  /** Whether the work board shows this run. */
  isWholeBoard: boolean;
  nodes: readonly Node[];
  workers: readonly Schemas["WorkerView"][];
}

export function Handoff({ agent, run, turn, isWholeBoard, nodes, workers }: HandoffProps) {
  const { t } = useTranslation("roles");
  const taken = run.turns.find((one) => one.turn === turn);
  const title = taken
    ? t("logOf", { number: turn, from: spoken(taken.from_role), to: spoken(taken.to_role) })
    : t("logNow", { number: turn, role: spoken(run.role) });
  return (
    <section className={styles.handoff} aria-label={nodes.length ? title : t("log")}>
      {nodes.length ? (
        <>
          <h2>{title}</h2>
          {nodes.map((node, place) => (
            <Attempt
              key={node.id}
              agent={agent}
              run={run.run}
              node={node}
              name={nodes.length > 1 ? t(place ? "fallbackAgent" : "ownAgent") : ""}
              model={modelOf(node, workers)}
              isOnBoard={isWholeBoard}
            />
          ))}
        </>
      ) : (
        <>
          <h2>{t("noLogTitle")}</h2>
          <p className={styles.quiet}>{t("noLog")}</p>
        </>
      )}
    </section>
  );
}

function modelOf(node: Node, workers: readonly Schemas["WorkerView"][]): string {
  const worker = workers.find((one) => one.name === node.assigned_worker);
  return node.agent_command ?? node.model ?? worker?.model ?? "";
}

interface AttemptProps {
  agent: string;
  run: string;
  node: Node;
  name: string;
  model: string;
  isOnBoard: boolean;
}

function Attempt({ agent, run, node, name, model, isOnBoard }: AttemptProps) {
  const { t } = useTranslation("roles");
  const { data: usage } = useUsage({ agent, run, by: "node" });
  const seconds = secondsOf(node, useNow());
  const spent = usage?.rows.find((row) => row.key === node.id)?.usage;
  const tokens = spent ? spent.input_tokens + spent.output_tokens : 0;
  return (
    <div className={styles.attempt}>
      <p className={styles.attemptFacts}>
        <StatusSign status={node.status} hasWord />
        {name && <b>{name}</b>}
        {model && <span title={t("agent")}>{model}</span>}
        {seconds !== null && <Duration seconds={seconds} />}
        {tokens > 0 && <Tokens count={tokens} isEstimate={spent?.is_estimate} />}
        {spent?.cost_usd ? <Money usd={spent.cost_usd} isEstimate={spent.is_estimate} /> : null}
        {isOnBoard && <Link to={paths.board(agent, node.id)}>{t("onBoard")}</Link>}
      </p>
      {node.reason && <p className={styles.failure}>{node.reason}</p>}
      <Log agent={agent} node={node.id} run={run} className={styles.log} />
    </div>
  );
}
