// What a worker keeps in its folder: its notebook, its memory, who it is.
import { useTranslation } from "react-i18next";

import { ApiError } from "~/api/client";
import { isFolder, useWorkspace } from "~/api/queries";
import { ErrorNote, Markdown, Panel, Skeleton, Tabs } from "~/ui";
import styles from "./worker.module.css";

const FILES = ["notebook", "memory", "identity"] as const;

export function Notes({ agent, worker }: { agent: string; worker: string }) {
  const { t } = useTranslation("worker");
  return (
    <Panel title={t("notes")}>
      <Tabs
        label={t("notes")}
        tabs={FILES.map((name) => ({
          key: name,
          label: t(name),
          content: <Note agent={agent} path={`workers/${worker}/${name}.md`} />,
        }))}
      />
    </Panel>
  );
}

function Note({ agent, path }: { agent: string; path: string }) {
  const { t } = useTranslation("worker");
  const { data, error } = useWorkspace(agent, path);
  const isMissing = error instanceof ApiError && error.status === 404;
  if (error && !isMissing) return <ErrorNote error={error} />;
  if (!data && !error) return <Skeleton />;
  const text = data && !isFolder(data) ? data.content.trim() : "";
  return text ? <Markdown text={text} /> : <p className={styles.quiet}>{t("nothing")}</p>;
}
