// The knowledge database: what earlier work has taught, and beside the list the node of the address.
import { useDeferredValue, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useParams } from "react-router";

import {
  KNOWLEDGE_KINDS,
  type KnowledgeKind,
  type KnowledgeNode,
  useKnowledgeNodes,
  useKnowledgeSearch,
} from "~/api/knowledge";
import { Badge, Button, Empty, Loaded, Page, paths, SearchInput, Select, Split } from "~/ui";
import styles from "./knowledge.module.css";
import { NodePage } from "./NodePage";
import { Stats } from "./Stats";
import { Upkeep } from "./Upkeep";

export default function Context() {
  const { t } = useTranslation("knowledge");
  const node = useParams().node ?? "";
  const [words, setWords] = useState("");
  const [kind, setKind] = useState<KnowledgeKind | "">("");
  const side = (
    <>
      <SearchInput label={t("find")} value={words} onText={setWords} />
      <Select
        label={t("kind")}
        isLabelUnseen
        value={kind}
        onChange={(event) => setKind(event.target.value as KnowledgeKind | "")}
      >
        <option value="">{t("all")}</option>
        {KNOWLEDGE_KINDS.map((one) => (
          <option key={one} value={one}>
            {t(`kind_${one}`)}
          </option>
        ))}
      </Select>
      <div className={styles.side}>
        {words.trim() ? (
          <Found words={words} kind={kind} shown={node} />
        ) : (
          <Latest kind={kind} shown={node} />
        )}
      </div>
    </>
  );
  return (
    <Page title={t("title")} actions={<Upkeep kind={kind} />} isWhole>
      <Split side={side} sideLabel={t("list")} isChosen={node !== ""}>
        {node ? <NodePage key={node} id={node} /> : <Stats />}
      </Split>
    </Page>
  );
}

interface ListProps {
  kind: KnowledgeKind | "";
  shown: string;
}

function Latest({ kind, shown }: ListProps) {
  const { t } = useTranslation("knowledge");
  const nodes = useKnowledgeNodes(kind);
  return (
    <Loaded query={nodes}>
      {({ pages }) =>
        pages[0]?.nodes.length ? (
          <>
            <ul>
              {pages.flatMap((page) =>
                page.nodes.map((node) => <OneOf key={node.id} node={node} shown={shown} />),
              )}
            </ul>
            {nodes.hasNextPage && (
              <Button size="s" onClick={() => void nodes.fetchNextPage()}>
                {t("more")}
              </Button>
            )}
          </>
        ) : (
          <Empty icon="knowledge" title={t("emptyTitle")}>
            {t("emptyAbout")}
          </Empty>
        )
      }
    </Loaded>
  );
}

function Found({ words, kind, shown }: ListProps & { words: string }) {
  const { t } = useTranslation("knowledge");
  const hits = useKnowledgeSearch(useDeferredValue(words), kind);
  return (
    <Loaded query={hits}>
      {(found) =>
        found.length ? (
          <ul>
            {found.map(({ node, snippet }) => (
              <OneOf key={node.id} node={node} shown={shown} snippet={snippet} />
            ))}
          </ul>
        ) : (
          <p className={styles.about}>{t("foundNone")}</p>
        )
      }
    </Loaded>
  );
}

function OneOf({ node, shown, snippet }: { node: KnowledgeNode; shown: string; snippet?: string }) {
  const { t } = useTranslation("knowledge");
  return (
    <li>
      <Link
        className={styles.node}
        to={paths.knowledge(node.id)}
        aria-current={node.id === shown ? "page" : undefined}
      >
        <Badge>{t(`kind_${node.kind}`)}</Badge>
        <strong>{node.title}</strong>
        {snippet && <span>{snippet}</span>}
      </Link>
    </li>
  );
}
