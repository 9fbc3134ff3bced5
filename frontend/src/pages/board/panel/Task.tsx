// What a node is to do, as its worker reads it, and what it is given for it.
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { useNodeRefs, useNodeSpec } from "~/api/queries";
import { Icon, Loaded, Markdown, paths, Size, withoutTitle } from "~/ui";
import type { OfNode } from "./Facts";
import styles from "./panel.module.css";

export function Task({ agent, node }: OfNode) {
  const { t } = useTranslation("board");
  const spec = useNodeSpec(agent, node.id);
  const refs = useNodeRefs(agent, node.id);
  return (
    <div className={styles.sections}>
      {node.failed_before && (
        <section className={styles.note} aria-label={t("failedBefore")}>
          <Icon name="retry" />
          <div>
            <h3>{t("failedBefore")}</h3>
            <p>{node.failed_before}</p>
          </div>
        </section>
      )}
      {spec.error ? <Markdown text={node.task} /> : <Loaded query={spec}>{(file) => <Markdown text={withoutTitle(file.content, node.name)} />}</Loaded>}
      {node.dependencies.length > 0 && (
        <section>
          <h3>{t("after")}</h3>
          <ul className={styles.names}>
            {node.dependencies.map((name) => (
              <li key={name}>
                <Link to={paths.board(agent, name)}>{name}</Link>
              </li>
            ))}
          </ul>
        </section>
      )}
      {refs.data && refs.data.length > 0 && (
        <section>
          <h3>{t("refs")}</h3>
          <ul className={styles.files}>
            {refs.data.map((ref) => (
              <li key={ref.name}>
                <Icon name={ref.is_there ? "file" : "trigger"} />
                <span className={styles.fileName}>{ref.name}</span>
                <span className={styles.faint}>
                  {ref.is_there ? ref.size !== null && <Size bytes={ref.size} /> : t("notThere")}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {node.checks.length > 0 && (
        <section>
          <h3>{t("checks")}</h3>
          <ul className={styles.names}>
            {node.checks.map((check) => (
              <li key={check}>
                <code>{check}</code>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}
