// Who wrote to whom in a task: a picture, and the same as buttons for keys and screen readers.
import { useMemo } from "react";
import { useTranslation } from "react-i18next";

import type { RolesRun } from "~/api/roles";
import { pictureOf } from "~/pages/communication/circle";
import { Picture } from "~/pages/communication/Picture";
import { classes } from "~/ui";
import { badgeOf, type Edge, failedRoles, type Pair, spoken, USER } from "./tasks";
import styles from "./roles.module.css";

interface GraphProps {
  run: RolesRun;
  edges: readonly Edge[];
  /** What does the work of a role that names no agent. */
  workerModel: string;
  onSelect: (pair: Pair | null) => void;
}

export function Graph({ run, edges, workerModel, onSelect }: GraphProps) {
  const { t } = useTranslation("roles");
  const picture = useMemo(
    () => pictureOf(run.edges.map(({ from_role: from, to_role: to, count }) => ({ from, to, count })), {
      middle: run.lead_role,
      all: [USER, ...Object.keys(run.roles)],
      least: 112,
      aspect: 2,
    }),
    [run.edges, run.roles, run.lead_role],
  );
  const failed = failedRoles(run);
  const byKey = new Map(edges.map((edge) => [edge.key, edge]));
  const select = (key: string) => {
    const edge = byKey.get(key);
    onSelect(edge && !edge.isSelected ? edge : null);
  };
  const badge = (key: string) => badgeOf(byKey.get(key) ?? { isFinal: false, count: 0 });
  return (
    <section className={styles.graph} aria-label={t("graph")}>
      <Picture
        picture={picture}
        chosen={edges.find((edge) => edge.isSelected)?.key ?? ""}
        latest={edges.find((edge) => edge.isLatest)?.key ?? ""}
        badgeOf={({ key }) => badge(key)}
        titleOf={({ key, from, to }) => t("edge", { from, to, badge: badge(key) })}
        lookOf={({ name }) => ({
          name: spoken(name),
          below: name === USER ? t("you") : run.roles[name]?.agent || workerModel || "",
          tone: name === run.role ? "busy" : failed.has(name) ? "bad" : undefined,
        })}
        onChoose={select}
      />
      {edges.length ? (
        <ul className={styles.edges} aria-label={t("graph")}>
          {edges.map((edge) => (
            <li key={edge.key}>
              <button
                type="button"
                className={classes(styles.edge, edge.isLatest && styles.isLatest, edge.isSelected && styles.isSelected)}
                aria-pressed={edge.isSelected}
                onClick={() => select(edge.key)}
              >
                {spoken(edge.from)} <span aria-hidden="true">→</span>
                <span className="unseen"> {t("to")} </span> {spoken(edge.to)} <b>{badgeOf(edge)}</b>
                {edge.isLatest && <span className={styles.mark}>{t("latest")}</span>}
              </button>
            </li>
          ))}
        </ul>
      ) : (
        <p className={styles.quiet}>{t("noEdges")}</p>
      )}
    </section>
  );
}
