// One file: the form, the text beside it, and saving what was changed.
import { useDeferredValue, useEffect, useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { useBlocker } from "react-router";

import { type SettingsContent, useSettingsCheck } from "~/api/system";
import { Button, Confirm, Icon, Tabs } from "~/ui";
import { type Draft, editOf, isChanged, NO_DRAFT, withText } from "./draft";
import { Form } from "./Form";
import { Review } from "./Review";
import styles from "./settings.module.css";
import { TextEditor } from "./TextEditor";

const PAUSE_MILLISECONDS = 250;

interface FileEditorProps {
  content: SettingsContent;
  onRefetch: () => Promise<unknown>;
}

export function FileEditor({ content, onRefetch }: FileEditorProps) {
  const { t } = useTranslation("settings");
  const [draft, setDraft] = useState<Draft>(NO_DRAFT);
  const [isReviewed, setReviewed] = useState(false);
  const edit = useSettled(editOf(draft));
  const check = useSettingsCheck(content.name, content.etag, edit);
  const found = edit ? check.data : undefined;
  const isDirty = isChanged(draft);
  const problems = isDirty && found ? found.problems : content.problems;
  const text = draft.text !== null && !draft.changes.length ? draft.text : (found?.text ?? content.text);
  const isBehind = draft.changes.length > 0 && (check.isFetching || edit?.changes !== editOf(draft)?.changes);
  const blocker = useBlocker(isDirty);
  const isNarrow = useMedia("(max-width: 1080px)");
  const form = (
    <Form
      content={content}
      own={found?.own ?? content.own}
      draft={draft}
      problems={problems}
      onDraft={setDraft}
    />
  );
  const yaml = (
    <TextEditor
      label={content.name}
      text={text}
      isBusy={isBehind && check.isFetching}
      problems={problems}
      onText={(now) => setDraft(withText(now, content.text))}
    />
  );
  const before = content.version_before;
  return (
    <section className={styles.editor} aria-label={content.name}>
      <p className={styles.aboutFile}>
        <span>{content.about}</span> <span>{t("counts", { when: content.takes_effect })}</span>
        {before !== null && before !== content.text && (
          <Button
            size="s"
            look="bare"
            icon={<Icon name="retry" />}
            onClick={() => setDraft(withText(before, content.text))}
          >
            {t("undo")}
          </Button>
        )}
      </p>
      {isNarrow ? (
        <div className={styles.oneOfBoth}>
          <Tabs
            label={content.name}
            tabs={[
              { key: "form", label: t("form"), content: form },
              { key: "text", label: t("text"), content: yaml },
            ]}
          />
        </div>
      ) : (
        <div className={styles.both}>
          <div className={styles.formSide}>{form}</div>
          <div className={styles.textSide}>{yaml}</div>
        </div>
      )}
      {isDirty && (
        <footer className={styles.bar}>
          <span role="status">
            {problems.length ? t("problems", { count: problems.length }) : t("changed")}
          </span>
          <Button onClick={() => setDraft(NO_DRAFT)}>{t("discard")}</Button>
          <Button look="main" onClick={() => setReviewed(true)}>
            {t("review")}
          </Button>
        </footer>
      )}
      {isReviewed && isDirty && (
        <Review
          content={content}
          check={found}
          error={check.error}
          edit={editOf(draft)}
          onSaved={async () => {
            await onRefetch();
            setDraft(NO_DRAFT);
            setReviewed(false);
          }}
          onRefetch={onRefetch}
          onClose={() => setReviewed(false)}
        />
      )}
      <Confirm
        isOpen={blocker.state === "blocked"}
        onClose={() => blocker.reset?.()}
        title={t("askLeave")}
        about={t("leaveAbout", { file: content.name })}
        act={t("discard")}
        onConfirm={() => blocker.proceed?.()}
      />
    </section>
  );
}

/** Return a value once it has stayed the same for a moment; nothing at once. */
function useSettled<T>(value: T | null): T | null {
  const name = useDeferredValue(JSON.stringify(value));
  const [settled, setSettled] = useState(name);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(name), PAUSE_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [name]);
  return value === null ? null : (JSON.parse(settled) as T | null);
}

/** Whether the window is as a media query says. */
function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = window.matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => window.matchMedia(query).matches,
  );
}
