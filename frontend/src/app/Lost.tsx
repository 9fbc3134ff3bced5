// A notice when Agiraph has not answered for a while: a page cannot find a home at another address.
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { useConnection } from "~/live/connection";
import { Icon } from "~/ui";
import styles from "./Lost.module.css";

/** Longer than a restart of the gateway or of the supervisor takes. */
export const LOST_SECONDS = 20;

export function Lost() {
  const { t } = useTranslation("app");
  const isAway = useConnection() === "reconnecting";
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    if (!isAway) return;
    const timer = setTimeout(() => setLost(true), LOST_SECONDS * 1000);
    return () => {
      clearTimeout(timer);
      setLost(false);
    };
  }, [isAway]);
  return (
    <div role="status">
      {isLost && (
        <p className={styles.lost}>
          <Icon name="warning" /> {t("lost", { address: window.location.host })}
        </p>
      )}
    </div>
  );
}
