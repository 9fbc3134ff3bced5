// A node beside the board: what it is to do, what came of it, its files, its log, what can be done.
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { useNode } from "~/api/queries";
import { Icon, IconButton, Loaded, OptionalBadge, StatusSign, Tabs, useAgentId } from "~/ui";
import { NodeActions } from "./Actions";
import { Facts } from "./Facts";
import { NodeFiles } from "./Files";
import { Log } from "./Log";
import styles from "./panel.module.css";
import { Result } from "./Result";
import { Task } from "./Task";

interface NodePanelProps {
  node: string;
  onClose: () => void;
}

export function NodePanel({ node: id, onClose }: NodePanelProps) {
  const { t } = useTranslation("board");
  const agent = useAgentId();
  const query = useNode(agent, id);
  const [tab, setTab] = useState<string | null>(null);
  const close = <IconButton label={t("closeNode")} icon={<Icon name="close" />} onClick={onClose} />;
  return (
    <div className={styles.panel}>
      {!query.data && <div className={styles.corner}>{close}</div>}
      <Loaded query={query} lines={10}>
        {(node) => (
          <>
            <header className={styles.head}>
              <div className={styles.titleRow}>
                <h2>{node.name}</h2>
                {close}
              </div>
              <p className={styles.under}>
                <StatusSign status={node.status} hasWord />
                <span>{node.role}</span>
                {node.optional && <OptionalBadge />}
                {node.labels.map((label) => (
                  <span key={label} className={styles.label}>
                    {label}
                  </span>
                ))}
              </p>
              <NodeActions agent={agent} node={node} />
            </header>
            <div className={styles.body}>
              <Facts agent={agent} node={node} />
              <Tabs
                label={t("panel")}
                open={tab ?? (node.status === "completed" ? "result" : "task")}
                onOpen={setTab}
                tabs={[
                  { key: "task", label: t("task"), content: <Task agent={agent} node={node} /> },
                  { key: "result", label: t("result"), content: <Result agent={agent} node={node} /> },
                  {
                    key: "scratch",
                    label: t("scratch"),
                    content: <NodeFiles agent={agent} node={node} place="scratch" />,
                  },
                  { key: "log", label: t("log"), content: <Log agent={agent} node={node.id} /> },
                ]}
              />
            </div>
          </>
        )}
      </Loaded>
    </div>
  );
}
