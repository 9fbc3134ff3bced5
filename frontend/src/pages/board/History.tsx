// The board as it was: a slider over all that happened on it.
import { useTranslation } from "react-i18next";

import { Button } from "~/ui";
import styles from "./board.module.css";

interface HistoryProps {
  at: number;
  last: number;
  onAt: (at: number | null) => void;
}

export function History({ at, last, onAt }: HistoryProps) {
  const { t } = useTranslation("board");
  const shown = Math.min(at, last);
  return (
    <div className={styles.history}>
      <span className={styles.historyLabel}>{t("asItWas", { at: shown, last })}</span>
      <input
        type="range"
        min={0}
        max={last}
        value={shown}
        aria-label={t("history")}
        aria-valuetext={t("asItWas", { at: shown, last })}
        onChange={(event) => onAt(Number(event.target.value))}
      />
      <Button size="s" onClick={() => onAt(null)}>
        {t("toNow")}
      </Button>
    </div>
  );
}
