// One node of the knowledge database: its text, its facts, what it is connected with.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useNavigate } from "react-router";

import { useMay } from "~/api/access";
import { ApiError } from "~/api/client";
import {
  type KnowledgeNeighbor,
  type KnowledgeNode,
  useKnowledgeNode,
  useRemoveKnowledgeNode,
} from "~/api/knowledge";
import { Badge, Button, Confirm, Empty, Icon, Loaded, Markdown, paths, Time, toast } from "~/ui";
import styles from "./knowledge.module.css";
import { factsOf } from "./facts";

export function NodePage({ id }: { id: string }) {
  const { t } = useTranslation("knowledge");
  const node = useKnowledgeNode(id);
  if (node.error instanceof ApiError && node.error.status === 404) {
    return <Empty icon="knowledge" title={t("gone")} />;
  }
  return (
    <Loaded query={node} lines={8}>
      {(found) => <Shown node={found.node} neighbors={found.neighbors} />}
    </Loaded>
  );
}

interface ShownProps {
  node: KnowledgeNode;
  neighbors: readonly KnowledgeNeighbor[];
}

function Shown({ node, neighbors }: ShownProps) {
  const { t } = useTranslation("knowledge");
  const mayRemove = useMay("control");
  return (
    <article className={styles.page}>
      <header className={styles.head}>
        <div>
          <Link className={styles.back} to={paths.knowledge()}>
            {t("title")}
          </Link>
          <h2>{node.title}</h2>
          <p className={styles.about}>
            <Badge>{t(`kind_${node.kind}`)}</Badge> {t("changed")} <Time at={node.updated} /> ·{" "}
            {t("used", { count: node.used })}
          </p>
        </div>
        {mayRemove && <Remove node={node} />}
      </header>
      <Markdown text={node.text} />
      <dl className={styles.facts}>
        {factsOf(node).map(([name, value]) => (
          <div key={name}>
            <dt>{name.replaceAll("_", " ")}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {neighbors.length > 0 && <Neighbors neighbors={neighbors} />}
    </article>
  );
}

function Neighbors({ neighbors }: { neighbors: readonly KnowledgeNeighbor[] }) {
  const { t } = useTranslation("knowledge");
  return (
    <section>
      <h3>{t("connected")}</h3>
      <ul>
        {neighbors.map(({ node, kind, is_outgoing }) => (
          <li key={`${kind} ${is_outgoing} ${node.id}`}>
            <Link className={styles.node} to={paths.knowledge(node.id)}>
              <Badge>{t(`kind_${node.kind}`)}</Badge>
              <strong>{node.title}</strong>
              <span>
                {is_outgoing ? "→" : "←"} {t(`edge_${kind}`)}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Remove({ node }: { node: KnowledgeNode }) {
  const { t } = useTranslation("knowledge");
  const [isAsked, setAsked] = useState(false);
  const navigate = useNavigate();
  const remove = useRemoveKnowledgeNode({
    onSuccess: () => {
      void navigate(paths.knowledge());
      toast({ title: t("removed", { title: node.title }), tone: "good", seconds: 3 });
    },
  });
  return (
    <>
      <Button size="s" icon={<Icon name="trash" />} onClick={() => setAsked(true)}>
        {t("remove")}
      </Button>
      <Confirm
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        title={t("removeTitle", { title: node.title })}
        about={t("removeAbout")}
        act={t("remove")}
        isBusy={remove.isPending}
        onConfirm={() => remove.act(node.id)}
      />
    </>
  );
}
