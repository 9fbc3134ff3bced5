// What a page is made of: its head, its panels, and what stands where there is nothing (yet).
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { ApiError } from "~/api/client";
import { Button } from "./Button";
import { classes } from "./classes";
import { Icon, type IconName } from "./Icon";
import styles from "./layout.module.css";
import { useTitle } from "./title";

interface PageProps {
  title: ReactNode;
  /** Beside the title: a status, a model. */
  about?: ReactNode;
  actions?: ReactNode;
  /** Without the usual margins, and no scrolling of its own: a conversation, a board. */
  isWhole?: boolean;
  children: ReactNode;
}

/** A page: its title, what can be done, and its content, which scrolls. */
export function Page({ title, about, actions, isWhole = false, children }: PageProps) {
  useTitle(typeof title === "string" ? title : "");
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <div className={styles.title}>
          <h1>{title}</h1>
          {about && <div className={styles.about}>{about}</div>}
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </header>
      <div className={classes(styles.content, isWhole && styles.whole)}>{children}</div>
    </div>
  );
}

export function Panel({
  title,
  actions,
  children,
}: {
  title?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className={styles.panel}>
      {(title || actions) && (
        <header className={styles.panelHead}>
          <h2>{title}</h2>
          {actions}
        </header>
      )}
      {children}
    </section>
  );
}

/** What stands where there is nothing: why, and what to do. */
export function Empty({
  icon,
  title,
  children,
  action,
}: {
  icon?: IconName;
  title: ReactNode;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className={styles.empty}>
      {icon && (
        <span className={styles.emptyIcon}>
          <Icon name={icon} size={24} />
        </span>
      )}
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  );
}

/** What went wrong, in the words of the refusal, and a way to try again. */
export function ErrorNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { t } = useTranslation("common");
  const text = error instanceof Error ? error.message : String(error);
  const fields = error instanceof ApiError ? error.errors : [];
  return (
    <div className={styles.error} role="alert">
      <Icon name="warning" />
      <div>
        <p>{text}</p>
        {fields.length > 1 && (
          <ul>
            {fields.map(({ field, detail }) => (
              <li key={field}>
                <code>{field}</code> {detail}
              </li>
            ))}
          </ul>
        )}
      </div>
      {onRetry && (
        <Button size="s" onClick={onRetry}>
          {t("again")}
        </Button>
      )}
    </div>
  );
}

export function Spinner() {
  const { t } = useTranslation("common");
  return <span className={styles.spinner} role="status" aria-label={t("loading")} />;
}

/** Grey lines in the place of what is on its way. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  const { t } = useTranslation("common");
  return (
    <div className={styles.skeleton} role="status" aria-label={t("loading")}>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} />
      ))}
    </div>
  );
}

interface Asked<T> {
  data: T | undefined;
  error: unknown;
  refetch: () => unknown;
}

/** What was asked for, once it is there; grey lines before, the refusal if it was refused. */
export function Loaded<T>({
  query,
  lines,
  children,
}: {
  query: Asked<T>;
  lines?: number;
  children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <ErrorNote error={query.error} onRetry={() => void query.refetch()} />;
  return <Skeleton {...(lines === undefined ? {} : { lines })} />;
}
