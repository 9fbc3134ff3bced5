// What is round each page: grey lines while it is fetched, and what is shown when it fails.
import { Component, type ReactNode, Suspense } from "react";
import { useTranslation } from "react-i18next";
import { useLocation, useRouteError } from "react-router";

import { Button, Empty, Skeleton } from "~/ui";
import styles from "./PageFrame.module.css";

interface CatchProps {
  /** Another one clears what was caught. */
  place: string;
  children: ReactNode;
}

class Catch extends Component<CatchProps, { error: unknown }> {
  override state = { error: undefined as unknown };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidUpdate(before: CatchProps) {
    if (before.place !== this.props.place && this.state.error !== undefined) {
      this.setState({ error: undefined });
    }
  }

  override render() {
    return this.state.error === undefined ? (
      this.props.children
    ) : (
      <Failed error={this.state.error} />
    );
  }
}

export function PageFrame({ page }: { page: ReactNode }) {
  const { pathname } = useLocation();
  return (
    <Catch place={pathname}>
      <Suspense
        fallback={
          <div className={styles.waiting}>
            <Skeleton lines={6} />
          </div>
        }
      >
        {page}
      </Suspense>
    </Catch>
  );
}

/** Whether a part of the page could not be fetched: it was replaced by a newer one. */
const isStale = (error: unknown) =>
  error instanceof TypeError && /import|fetch/i.test(error.message);

function Failed({ error }: { error: unknown }) {
  const { t } = useTranslation("app");
  const message = error instanceof Error ? error.message : String(error);
  const reload = <Button onClick={() => window.location.reload()}>{t("reload")}</Button>;
  return isStale(error) ? (
    <Empty icon="retry" title={t("staleTitle")} action={reload}>
      {t("staleAbout")}
    </Empty>
  ) : (
    <Empty icon="warning" title={t("brokenTitle")} action={reload}>
      {t("brokenAbout", { message })}
    </Empty>
  );
}

export function Broken() {
  return <Failed error={useRouteError()} />;
}

export function NotFound() {
  const { t } = useTranslation("app");
  return (
    <Empty icon="search" title={t("notFoundTitle")}>
      {t("notFoundAbout")}
    </Empty>
  );
}
