// The checks that the results of nodes have passed, each with the end of its output.
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import type { NodeChecks } from "~/api/delivered";
import { Badge, Icon, paths } from "~/ui";
import styles from "./result.module.css";

export function Checks({ agent, nodes }: { agent: string; nodes: readonly NodeChecks[] }) {
  const { t } = useTranslation("result");
  if (!nodes.length) return <p className={styles.faint}>{t("noChecks")}</p>;
  return (
    <ul className={styles.list}>
      {nodes.map(({ node, id, checks }) => (
        <li key={id}>
          <Link className={styles.node} to={paths.board(agent, id)}>
            {node}
          </Link>
          {checks.map(({ command, exit_code, output }) => (
            <details key={command} className={styles.check}>
              <summary>
                <Icon name={exit_code === 0 ? "check" : "close"} size={14} />
                <code>{command}</code>
                <Badge tone={exit_code === 0 ? "good" : "bad"}>
                  {exit_code === 0 ? t("passed") : exit_code === null ? t("timedOut") : t("exit", { code: exit_code })}
                </Badge>
              </summary>
              <pre tabIndex={0}>{output || t("noOutput")}</pre>
            </details>
          ))}
        </li>
      ))}
    </ul>
  );
}
