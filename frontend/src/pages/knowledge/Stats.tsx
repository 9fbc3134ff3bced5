// What the knowledge database holds in all, where no node is chosen.
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { KNOWLEDGE_KINDS, type KnowledgeKind, useKnowledgeStats } from "~/api/knowledge";
import { Loaded, paths, Size } from "~/ui";
import styles from "./knowledge.module.css";

export function Stats() {
  const { t } = useTranslation("knowledge");
  const stats = useKnowledgeStats();
  return (
    <Loaded query={stats}>
      {({ nodes, edges, by_kind, by_project, most_used, never_used, size_bytes }) => (
        <div className={styles.page}>
          <p className={styles.about}>{t("about")}</p>
          <dl className={styles.facts}>
            <Fact name={t("nodes")}>{nodes}</Fact>
            <Fact name={t("edges")}>{edges}</Fact>
            <Fact name={t("neverUsed")}>{never_used}</Fact>
            <Fact name={t("size")}>
              <Size bytes={size_bytes} />
            </Fact>
            {KNOWLEDGE_KINDS.filter((kind) => by_kind[kind]).map((kind: KnowledgeKind) => (
              <Fact key={kind} name={t(`kind_${kind}`)}>
                {by_kind[kind]}
              </Fact>
            ))}
          </dl>
          {by_project.length > 0 && (
            <section>
              <h3>{t("projects")}</h3>
              <ul>
                {by_project.map(({ project_id, title, nodes: count }) => (
                  <li key={project_id}>
                    {title || project_id} · {count}
                  </li>
                ))}
              </ul>
            </section>
          )}
          {most_used.length > 0 && (
            <section>
              <h3>{t("mostUsed")}</h3>
              <ul>
                {most_used.map((node) => (
                  <li key={node.id}>
                    <Link to={paths.knowledge(node.id)}>{node.title}</Link> ·{" "}
                    {t("used", { count: node.used })}
                  </li>
                ))}
              </ul>
            </section>
          )}
        </div>
      )}
    </Loaded>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
