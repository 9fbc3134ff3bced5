// Where one writes: to whom, how it is to be read, with which files, in answer to what.
import { useEffect, useId, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { Button, classes, Icon, IconButton, Menu } from "~/ui";
import styles from "./Composer.module.css";
import { Uploads } from "./Uploads";
import { useDraft } from "./drafts";
import { addressed, receiverOf } from "./mention";
import { useName } from "./Message";
import type { MessageItem } from "./items";
import type { Body } from "./outbox";
import { useUploads } from "./uploads";
import { WritingField } from "./WritingField";

export const MODES = ["steer", "followup", "interrupt"] as const;
type Mode = (typeof MODES)[number];

export interface ComposerProps {
  agent: string;
  entity: string;
  /** Who can be named, the entity among them. */
  names: readonly string[];
  reply: MessageItem | null;
  onReply: (item: MessageItem | null) => void;
  onSend: (body: Body) => void;
}

export function Composer({ agent, entity, names, reply, onReply, onSend }: ComposerProps) {
  const { t } = useTranslation("conversation");
  const [text, setText] = useDraft(agent, entity);
  const [mode, setMode] = useState<Mode>("steer");
  const uploads = useUploads(agent);
  const isOver = useDrop(uploads.add);
  const picker = useRef<HTMLInputElement>(null);
  const name = useName();
  const hint = useId();
  const to = receiverOf(text, names, entity);
  const isUploading = uploads.all.some((one) => one.state !== "done");
  const canSend = text.trim() !== "" && !isUploading;

  const send = () => {
    if (!canSend) return;
    const said = addressed(text, names, entity);
    const attachments = uploads.all.map((one) => one.path);
    onSend({
      message: said.text,
      to: said.to,
      mode,
      attachments,
      ...(reply && said.to === entity ? { in_reply_to: reply.message.id } : {}),
    });
    setText("");
    setMode("steer");
    uploads.clear();
    onReply(null);
  };
  return (
    <form
      className={classes(styles.composer, isOver && styles.isOver)}
      aria-label={t("write")}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {reply && <Reply item={reply} onCancel={() => onReply(null)} />}
      <Uploads all={uploads.all} onRetry={uploads.retry} onRemove={uploads.remove} />
      <WritingField
        label={t("writeTo", { name: name(entity) })}
        text={text}
        names={names}
        describedBy={hint}
        onText={setText}
        onSend={send}
        onFiles={uploads.add}
      />
      <div className={styles.foot}>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(event) => {
            uploads.add(event.target.files ?? []);
            event.target.value = "";
          }}
        />
        <IconButton size="s" label={t("attach")} icon={<Icon name="attach" />} onClick={() => picker.current?.click()} />
        <ModeMenu mode={mode} onMode={setMode} />
        {to !== entity && <span className={styles.to}>{t("to", { name: name(to) })}</span>}
        <span id={hint} className={styles.hint}>
          {t(isUploading ? "waitsForFiles" : "keys")}
        </span>
        <Button type="submit" look="main" size="s" disabled={!canSend} icon={<Icon name="send" />}>
          {t("send")}
        </Button>
      </div>
    </form>
  );
}

function ModeMenu({ mode, onMode }: { mode: Mode; onMode: (mode: Mode) => void }) {
  const { t } = useTranslation("conversation");
  return (
    <Menu
      trigger={
        <Button size="s" look="bare" aria-label={t("modeIs", { mode: t(`mode.${mode}`) })} className={mode === "interrupt" ? styles.interrupts : ""}>
          {t(`mode.${mode}`)} <Icon name="down" size={12} />
        </Button>
      }
      items={MODES.map((one) => ({
        key: one,
        label: (
          <span className={styles.mode}>
            {t(`mode.${one}`)}
            <small>{t(`modeAbout.${one}`)}</small>
          </span>
        ),
        isChosen: one === mode,
        onSelect: () => onMode(one),
      }))}
    />
  );
}

function Reply({ item, onCancel }: { item: MessageItem; onCancel: () => void }) {
  const { t } = useTranslation("conversation");
  const name = useName();
  return (
    <div className={styles.reply}>
      <span className={styles.replyText}>
        <b>{t("replyTo", { name: name(item.message.from) })}</b> {item.message.content.slice(0, 200)}
      </span>
      <IconButton size="s" label={t("noReply")} icon={<Icon name="close" />} onClick={onCancel} />
    </div>
  );
}

/** Take files that are dropped on the page; return whether some are held above it. */
function useDrop(onFiles: (files: Iterable<File>) => void): boolean {
  const [isOver, setOver] = useState(false);
  const latest = useRef(onFiles);
  useEffect(() => {
    latest.current = onFiles;
  });
  useEffect(() => {
    const hold = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    const drop = (event: DragEvent) => {
      event.preventDefault();
      setOver(false);
      latest.current(event.dataTransfer?.files ?? []);
    };
    window.addEventListener("dragover", hold);
    window.addEventListener("dragleave", leave);
    window.addEventListener("drop", drop);
    return () => {
      window.removeEventListener("dragover", hold);
      window.removeEventListener("dragleave", leave);
      window.removeEventListener("drop", drop);
    };
  }, []);
  return isOver;
}
