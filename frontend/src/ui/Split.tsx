// Two columns: a list and what is chosen in it. On a narrow screen one of them at a time.
import type { ReactNode } from "react";

import { classes } from "./classes";
import styles from "./Split.module.css";

interface SplitProps {
  side: ReactNode;
  sideLabel: string;
  /** On a narrow screen: whether what is chosen is shown, else the list. */
  isChosen: boolean;
  children: ReactNode;
}

export function Split({ side, sideLabel, isChosen, children }: SplitProps) {
  return (
    <div className={classes(styles.split, isChosen && styles.isChosen)}>
      <nav className={styles.side} aria-label={sideLabel}>
        {side}
      </nav>
      <div className={styles.main}>{children}</div>
    </div>
  );
}
