// The editor of a note, with how it will read; what others have written meanwhile is never lost.
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useBlocker } from "react-router";

import type { ApiError } from "~/api/client";
import { type MemoryFile, useEditMemory } from "~/api/memory";
import { Button, Check, Confirm, DiffView, ErrorNote, Icon, Markdown, TextArea, useKey } from "~/ui";
import styles from "./memory.module.css";

type Text = Pick<MemoryFile, "content" | "etag">;

interface NoteEditorProps {
  agent: string;
  path: string;
  /** The file as it is: it may change while one edits. */
  now: Text;
  onDone: () => void;
}

export function NoteEditor({ agent, path, now, onDone }: NoteEditorProps) {
  const { t } = useTranslation("memory");
  const { t: common } = useTranslation("common");
  const [base, setBase] = useState(now);
  const [text, setText] = useState(now.content);
  const [tell, setTell] = useState(true);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [isLeaving, setLeaving] = useState(false);
  const edit = useEditMemory(agent, {
    onSuccess: () => leave(),
    onError: setProblem,
  });
  const isLeft = useRef(false);
  const leave = () => {
    isLeft.current = true;
    onDone();
  };
  const isChanged = text !== base.content;
  const isConflict = now.etag !== base.etag && now.content !== text && !edit.isPending && !edit.isSuccess;
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) =>
      isChanged &&
      !isLeft.current &&
      currentLocation.pathname + currentLocation.search !== nextLocation.pathname + nextLocation.search,
  );
  useAskBeforeClosing(isChanged);
  const save = (from: Text) => {
    if (edit.isPending || !text.trim()) return;
    setProblem(null);
    setBase(from);
    edit.act({ path, content: text, etag: from.etag, tell });
  };
  useKey("Mod+s", common("save"), () => save(base), { isForTyping: true });
  return (
    <div className={styles.editor}>
      {isConflict && (
        <Conflict
          now={now}
          text={text}
          detail={problem?.status === 412 ? problem.message : ""}
          onTheirs={leave}
          onMine={() => save(now)}
          onGoOn={() => {
            setProblem(null);
            setBase(now);
          }}
        />
      )}
      {problem && !isConflict && <ErrorNote error={problem} />}
      <div className={styles.columns}>
        <TextArea
          label={t("text", { path })}
          isLabelUnseen
          className={styles.text}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <section className={styles.preview} aria-label={t("preview")}>
          <Markdown text={text} />
        </section>
      </div>
      <footer className={styles.foot}>
        <Check label={t("tell")} checked={tell} onChange={(event) => setTell(event.target.checked)} />
        <span className={styles.about}>{t("characters", { count: text.length })}</span>
        <Button onClick={() => (isChanged ? setLeaving(true) : leave())}>{common("cancel")}</Button>
        <Button look="main" icon={<Icon name="check" />} isBusy={edit.isPending} disabled={!text.trim()} onClick={() => save(base)}>
          {common("save")}
        </Button>
      </footer>
      <Confirm
        isOpen={isLeaving || blocker.state === "blocked"}
        onClose={() => {
          setLeaving(false);
          blocker.reset?.();
        }}
        title={t("discardTitle")}
        about={t("discardAbout")}
        act={t("discard")}
        onConfirm={() => (blocker.state === "blocked" ? blocker.proceed() : leave())}
      />
    </div>
  );
}

/** Have the browser ask before the window is closed. */
function useAskBeforeClosing(isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [isOn]);
}

interface ConflictProps {
  now: Text;
  text: string;
  /** Who has changed it, in the words of the refusal. */
  detail: string;
  onTheirs: () => void;
  onMine: () => void;
  onGoOn: () => void;
}

function Conflict({ now, text, detail, onTheirs, onMine, onGoOn }: ConflictProps) {
  const { t } = useTranslation("memory");
  return (
    <section className={styles.conflict} role="alert">
      <h3>
        <Icon name="warning" /> {t("changedTitle")}
      </h3>
      <p>{detail || t("changedAbout")}</p>
      <DiffView before={now.content} after={text} names={[t("theirs"), t("yours")]} />
      <div className={styles.acts}>
        <Button size="s" onClick={onGoOn}>
          {t("goOn")}
        </Button>
        <Button size="s" onClick={onTheirs}>
          {t("takeTheirs")}
        </Button>
        <Button size="s" look="danger" onClick={onMine}>
          {t("writeMine")}
        </Button>
      </div>
    </section>
  );
}
