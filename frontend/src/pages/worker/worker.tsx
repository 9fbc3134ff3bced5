// One worker: what it works on and has published, what it keeps, its process, what can be done.
import { useTranslation } from "react-i18next";
import { Link, useParams } from "react-router";

import type { Schemas } from "~/api/client";
import { useBoard, useEntities, useWorkers } from "~/api/queries";
import { Empty, Loaded, Page, Panel, paths, StatusSign, useAgentId } from "~/ui";
import { Activity } from "./Activity";
import { Acts } from "./Acts";
import { About, Process } from "./Facts";
import { CurrentNode } from "./CurrentNode";
import { Notes } from "./Notes";
import styles from "./worker.module.css";

type WorkerView = Schemas["WorkerView"];

export default function Worker() {
  const { t } = useTranslation("worker");
  const agent = useAgentId();
  const named = useParams()["worker"]?.toLowerCase() ?? "";
  const workers = useWorkers(agent);
  return (
    <Loaded query={workers} lines={8}>
      {(all) => {
        const worker = all.find(
          (one) => one.id.toLowerCase() === named || one.name.toLowerCase() === named,
        );
        return worker ? (
          <Whole key={worker.id} agent={agent} worker={worker} />
        ) : (
          <Empty icon="user" title={t("notThere")}>
            {t("notThereAbout")}
          </Empty>
        );
      }}
    </Loaded>
  );
}

function Whole({ agent, worker }: { agent: string; worker: WorkerView }) {
  const { t } = useTranslation("worker");
  const { data: entities } = useEntities();
  const row = entities?.find((one) => one.address === worker.address);
  return (
    <Page
      title={worker.name}
      about={
        <>
          <StatusSign status={worker.status} hasWord />
          {worker.role && <span className={styles.role}>{worker.role}</span>}
          <Link to={paths.entity(agent, worker.name)}>{t("talk")}</Link>
        </>
      }
      actions={<Acts worker={worker} />}
    >
      <div className={styles.columns}>
        <div>
          <CurrentNode agent={agent} worker={worker} />
          <Nodes agent={agent} worker={worker} />
          <Notes agent={agent} worker={worker.id} />
        </div>
        <div>
          <About worker={worker} />
          <Process row={row} />
          <Activity agent={agent} worker={worker} />
        </div>
      </div>
    </Page>
  );
}

function Nodes({ agent, worker }: { agent: string; worker: WorkerView }) {
  const { t } = useTranslation("worker");
  const board = useBoard(agent);
  return (
    <Panel title={t("earlier")}>
      <Loaded query={board} lines={2}>
        {({ nodes }) => {
          const its = nodes.filter((node) => node.assigned_worker === worker.name);
          if (!its.length) return <p className={styles.quiet}>{t("noEarlier")}</p>;
          return (
            <ul className={styles.list}>
              {its.map((node) => (
                <li key={node.id}>
                  <StatusSign status={node.status} />
                  <Link to={paths.board(agent, node.id)}>{node.name}</Link>
                  <span className={styles.quiet}>{node.summary ?? node.reason ?? ""}</span>
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
    </Panel>
  );
}
