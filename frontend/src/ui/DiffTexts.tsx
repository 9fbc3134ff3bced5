// Two texts as one column: what went is marked with - and red, what came with + and green.
import { useMemo } from "react";
import { useTranslation } from "react-i18next";

import { classes } from "./classes";
import { diffLines } from "./diff";
import styles from "./DiffTexts.module.css";
import { withUnseenShown } from "./format";

const SIGNS = { same: " ", added: "+", removed: "-", gap: "…" } as const;

interface DiffTextsProps {
  before: string;
  after: string;
  names?: readonly [string, string];
}

export default function DiffTexts({ before, after, names }: DiffTextsProps) {
  const { t } = useTranslation("common");
  const lines = useMemo(
    () => diffLines(withUnseenShown(before), withUnseenShown(after)),
    [before, after],
  );
  if (!lines.length) return <p className={styles.none}>{t("noDifference")}</p>;
  return (
    <div className={styles.diff} role="region" aria-label={t("difference")} tabIndex={0}>
      {names && (
        <p className={styles.names}>
          <span className={styles.removedText}>− {names[0]}</span>
          <span className={styles.addedText}>+ {names[1]}</span>
        </p>
      )}
      {lines.map((line, place) => (
        <div key={place} className={classes(styles.line, styles[line.kind])}>
          <span className={styles.number}>{line.before}</span>
          <span className={styles.number}>{line.after}</span>
          <span className={styles.sign}>{SIGNS[line.kind]}</span>
          <span className={styles.text}>{line.text}</span>
        </div>
      ))}
    </div>
  );
}
