// One note: as it reads, as it is edited, or as it was.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useNavigate, useSearchParams } from "react-router";

import { ApiError } from "~/api/client";
import { type MemoryFile, useEditMemory, useRemoveMemory } from "~/api/memory";
import { useMemoryFile } from "~/api/queries";
import { Button, closeToast, Confirm, Empty, ErrorNote, Icon, Markdown, paths, Skeleton, toast } from "~/ui";
import { History } from "./History";
import styles from "./memory.module.css";
import { NoteEditor } from "./NoteEditor";
import { nameOf } from "./notes";

const MAIN = "MEMORY.md";
const NEW: Pick<MemoryFile, "content" | "etag"> = { content: "", etag: "" };

interface NotePageProps {
  agent: string;
  path: string;
  mayEdit: boolean;
}

export function NotePage({ agent, path, mayEdit }: NotePageProps) {
  const { t } = useTranslation("memory");
  const [search, setSearch] = useSearchParams();
  const file = useMemoryFile(agent, path);
  const isMissing = file.error instanceof ApiError && file.error.status === 404;
  const view = search.has("edit") ? "edit" : search.has("history") ? "history" : "text";
  const show = (next: "edit" | "history" | "text") => setSearch(next === "text" ? {} : { [next]: "1" });
  if (isMissing && view === "text") {
    return (
      <Empty
        icon="memory"
        title={t("gone")}
        action={<Button onClick={() => show("history")}>{t("history")}</Button>}
      />
    );
  }
  const now = isMissing ? NEW : file.data;
  if (!now) return file.error ? <ErrorNote error={file.error} onRetry={() => void file.refetch()} /> : <Skeleton lines={8} />;
  return (
    <article className={styles.page}>
      <header className={styles.head}>
        <div>
          <Link className={styles.back} to={paths.memory(agent)}>
            {t("title")}
          </Link>
          <h2>{nameOf(path)}</h2>
          <p className={styles.about}>{path}</p>
        </div>
        {view !== "edit" && (
          <div className={styles.acts}>
            {mayEdit && !isMissing && (
              <Button size="s" icon={<Icon name="edit" />} onClick={() => show("edit")}>
                {t("edit")}
              </Button>
            )}
            <Button size="s" aria-pressed={view === "history"} onClick={() => show(view === "history" ? "text" : "history")}>
              {t("history")}
            </Button>
            {mayEdit && !isMissing && path !== MAIN && <Remove agent={agent} path={path} note={now} />}
          </div>
        )}
      </header>
      {view === "edit" && mayEdit ? (
        <NoteEditor agent={agent} path={path} now={now} onDone={() => show("text")} />
      ) : view === "history" ? (
        <History agent={agent} path={path} now={now} mayEdit={mayEdit} />
      ) : (
        <Markdown text={now.content} />
      )}
    </article>
  );
}

type Text = Pick<MemoryFile, "content" | "etag">;

function offerBack(title: string, act: string, onAct: () => void): void {
  const key = toast({
    title,
    actions: (
      <Button
        size="s"
        onClick={() => {
          closeToast(key);
          onAct();
        }}
      >
        {act}
      </Button>
    ),
  });
}

function Remove({ agent, path, note }: { agent: string; path: string; note: Text }) {
  const { t } = useTranslation("memory");
  const [isAsked, setAsked] = useState(false);
  const navigate = useNavigate();
  const undo = useEditMemory(agent);
  const remove = useRemoveMemory(agent, {
    onSuccess: () => {
      void navigate(paths.memory(agent));
      const back = { path, content: note.content, etag: "", tell: true };
      offerBack(t("removedToast", { path }), t("undo"), () => undo.act(back));
    },
  });
  return (
    <>
      <Button size="s" icon={<Icon name="trash" />} onClick={() => setAsked(true)}>
        {t("remove")}
      </Button>
      <Confirm
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        title={t("removeTitle", { path })}
        about={t("removeAbout")}
        act={t("remove")}
        isBusy={remove.isPending}
        onConfirm={() => remove.act({ path, etag: note.etag })}
      />
    </>
  );
}
