// What a worker works on, in its own words for it, and what it has published of it.
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import type { Schemas } from "~/api/client";
import { isFolder, useNode, useNodeFiles, useNodeSpec } from "~/api/queries";
import { Code, Loaded, Markdown, Panel, paths, Size, StatusSign, withoutTitle } from "~/ui";
import styles from "./worker.module.css";

export function CurrentNode({ agent, worker }: { agent: string; worker: Schemas["WorkerView"] }) {
  const { t } = useTranslation("worker");
  if (worker.node_id === null) {
    return (
      <Panel title={t("node")}>
        <p className={styles.quiet}>{t("noNode")}</p>
      </Panel>
    );
  }
  return <Held key={worker.node_id} agent={agent} node={worker.node_id} />;
}

function Held({ agent, node }: { agent: string; node: string }) {
  const { t } = useTranslation("worker");
  const view = useNode(agent, node);
  const spec = useNodeSpec(agent, node);
  return (
    <Panel
      title={view.data?.name ?? t("node")}
      actions={<Link to={paths.board(agent, node)}>{t("toBoard")}</Link>}
    >
      {view.data && <StatusSign status={view.data.status} hasWord />}
      <div className={styles.text} role="region" aria-label={t("node")} tabIndex={0}>
        <Loaded query={spec}>{({ content }) => <Markdown text={withoutTitle(content, view.data?.name ?? "")} />}</Loaded>
      </div>
      <Published agent={agent} node={node} path="" />
    </Panel>
  );
}

/** A folder of what is published, its files inline. */
function Published({ agent, node, path }: { agent: string; node: string; path: string }) {
  const { t } = useTranslation("worker");
  const { data } = useNodeFiles(agent, node, "published", path);
  if (!data || !isFolder(data) || !data.entries.length) return null;
  return (
    <>
      {path === "" && <h3 className={styles.under}>{t("published")}</h3>}
      {data.entries.map((entry) => (
        <details key={entry.path} className={styles.file}>
          <summary>
            {entry.name} {entry.kind === "file" && <Size bytes={entry.size} />}
          </summary>
          {entry.kind === "folder" ? (
            <Published agent={agent} node={node} path={path ? `${path}/${entry.name}` : entry.name} />
          ) : (
            <PublishedFile agent={agent} node={node} path={path ? `${path}/${entry.name}` : entry.name} />
          )}
        </details>
      ))}
    </>
  );
}

function PublishedFile({ agent, node, path }: { agent: string; node: string; path: string }) {
  const file = useNodeFiles(agent, node, "published", path);
  return (
    <Loaded query={file}>
      {(data) => {
        if (isFolder(data) || data.encoding !== "utf-8") return null;
        return path.endsWith(".md") ? (
          <Markdown text={data.content} />
        ) : (
          <Code text={data.content} language={path.slice(path.lastIndexOf(".") + 1)} />
        );
      }}
    </Loaded>
  );
}
