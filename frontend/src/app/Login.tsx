// The page for a browser that is not logged in: how to log in; then it opens the requested page.
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { Navigate, useSearchParams } from "react-router";

import { isUnauthenticated } from "~/api/client";
import { whoAmIQuery } from "~/api/access";
import { Icon } from "~/ui";
import styles from "./Login.module.css";
import { nextPage } from "~/ui/paths";

const LOOK_MILLISECONDS = 2_000;

export function Login() {
  const { t } = useTranslation("login");
  const [search] = useSearchParams();
  const { data, error } = useQuery({
    ...whoAmIQuery,
    staleTime: 0,
    retry: false,
    refetchInterval: LOOK_MILLISECONDS,
    refetchOnWindowFocus: true,
  });
  const next = nextPage(search.get("next"));
  if (data) return <Navigate to={next} replace />;
  const isAway = error !== null && !isUnauthenticated(error);
  return (
    <main className={styles.place}>
      <div className={styles.card}>
        <h1>
          <Icon name="key" size={20} /> {t("title")}
        </h1>
        <p>{t("about")}</p>
        <pre>agiraph login</pre>
        <p>{t("orUi")}</p>
        <pre>agiraph ui</pre>
        <p className={styles.quiet}>
          {isAway ? t("away") : t("waiting")} <a href={`/login?next=${encodeURIComponent(`/ui${next}`)}`}>{t("code")}</a>
        </p>
      </div>
    </main>
  );
}
