// What came of a node: its summary, its checks with their output, and what it has published.
import { useTranslation } from "react-i18next";

import type { Schemas } from "~/api/client";
import { Badge, Icon, Markdown } from "~/ui";
import { hasEnded } from "../graph";
import type { OfNode } from "./Facts";
import { NodeFiles } from "./Files";
import styles from "./panel.module.css";

export function Result({ agent, node }: OfNode) {
  const { t } = useTranslation("board");
  const checks = node.evidence?.checks ?? [];
  return (
    <div className={styles.sections}>
      {node.summary ? (
        <Markdown text={node.summary} />
      ) : (
        <p className={styles.faint}>{t(hasEnded(node.status) ? "noResult" : "noResultYet")}</p>
      )}
      {checks.length > 0 && (
        <section>
          <h3>{t("evidence")}</h3>
          <ul className={styles.checks}>
            {checks.map((check) => (
              <Check key={check.command} check={check} />
            ))}
          </ul>
        </section>
      )}
      {(node.published.length > 0 || node.earlier_attempts.length > 0) && (
        <section>
          <h3>{t("published")}</h3>
          <NodeFiles agent={agent} node={node} place="published" />
          {node.evidence?.digest && (
            <p className={styles.digest} title={node.evidence.digest}>
              SHA-256 {node.evidence.digest.slice(0, 16)}…
            </p>
          )}
        </section>
      )}
    </div>
  );
}

function Check({ check }: { check: Schemas["CheckResult"] }) {
  const { t } = useTranslation("board");
  const isGood = check.exit_code === 0;
  const how = check.exit_code === null ? t("timedOut") : t("exit", { code: check.exit_code });
  return (
    <li>
      <details>
        <summary>
          <span className={isGood ? styles.good : styles.bad}>
            <Icon name={isGood ? "check" : "close"} />
          </span>
          <code>{check.command}</code>
          <Badge tone={isGood ? "good" : "bad"}>{isGood ? t("passed") : how}</Badge>
        </summary>
        <pre tabIndex={0}>{check.output || t("noOutput")}</pre>
      </details>
    </li>
  );
}
