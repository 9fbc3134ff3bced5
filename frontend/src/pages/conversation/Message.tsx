// A message between the person and an entity, and what an entity thinks aloud.
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { useRuns } from "~/api/queries";
import { Button, classes, formatSize, Icon, IconButton, Markdown, paths, QuestionState, Time } from "~/ui";
import { type Attached, runOf, withoutAttached } from "./attached";
import { clockOf } from "./days";
import { HUMAN, type MessageItem, type ThoughtItem } from "./items";
import styles from "./Message.module.css";
import type { Row } from "./rows";

const LONG = 6000;

/** The name of whoever speaks, as people call them. */
export function useName(): (who: string) => string {
  const { t } = useTranslation("conversation");
  return (who) =>
    who === HUMAN ? t("you") : who === "coordinator" ? t("coordinator") : who === "*" ? t("everyone") : who;
}

export function Author({ who, at }: { who: string; at: number }) {
  const name = useName()(who);
  return (
    <header className={styles.author}>
      <span className={classes(styles.avatar, styles[`hue${hueOf(who)}`])} aria-hidden="true">
        {who === "coordinator" ? "★" : name.charAt(0).toUpperCase()}
      </span>
      <span className={styles.name}>{name}</span>
      <span className={styles.at}>
        <Time at={at} />
      </span>
    </header>
  );
}

const HUES = 6;

function hueOf(who: string): number {
  if (who === "coordinator") return 0;
  let sum = 0;
  for (const sign of who) sum = (sum * 31 + sign.charCodeAt(0)) % 9973;
  return sum % HUES;
}

/** Markdown that is cut while it is very long. */
export function LongText({ text }: { text: string }) {
  const { t } = useTranslation("conversation");
  const [isWhole, setWhole] = useState(false);
  if (text.length <= LONG || isWhole) return <Markdown text={text} />;
  return (
    <>
      <Markdown text={text.slice(0, LONG)} />
      <Button size="s" className={styles.whole} onClick={() => setWhole(true)}>
        {t("showWhole", { count: text.length })}
      </Button>
    </>
  );
}

interface FilesProps {
  agent: string;
  files: readonly Attached[];
  at: number;
}

/** What is attached, where it lies: in the run in which the message was written. */
function Files({ agent, files, at }: FilesProps) {
  const { data: runs = [] } = useRuns(agent);
  return (
    <ul className={styles.files}>
      {files.map((file) => (
        <li key={file.path}>
          <Link to={{ pathname: paths.files(agent, file.path), search: runOf(runs, at) }}>
            <Icon name="file" /> {file.name} <span>{formatSize(file.bytes)}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

interface MessageProps {
  row: Row;
  item: MessageItem;
  agent: string;
  onReply: () => void;
}

export function Message({ row, item, agent, onReply }: MessageProps) {
  const { i18n } = useTranslation("conversation");
  const { message } = item;
  const isMine = message.from === HUMAN;
  const { text, files } = withoutAttached(message.content);
  const shown = (
    <>
      {row.quoted && <Quoted message={row.quoted} />}
      <LongText text={text} />
      {files.length > 0 && (
        <Files agent={agent} files={files} at={message.ts} />
      )}
      {message.question_id && message.kind === "question" && (
        <QuestionState id={message.question_id} />
      )}
    </>
  );
  if (isMine) {
    return (
      <Mine kind={message.kind} to={message.to} at={item.at} actions={<Actions text={text} onReply={onReply} />}>
        {shown}
      </Mine>
    );
  }
  return (
    <article className={classes(styles.message, styles[message.kind])}>
      {row.isFirst ? (
        <Author who={message.from} at={item.at} />
      ) : (
        <span className={styles.quietAt}>{clockOf(item.at, i18n.language)}</span>
      )}
      <div className={styles.body}>{shown}</div>
      <Actions text={text} onReply={onReply} />
    </article>
  );
}

function Quoted({ message }: { message: MessageItem["message"] }) {
  const name = useName();
  return (
    <p className={styles.quoted}>
      <b>{name(message.from)}</b> {message.content.slice(0, 160)}
    </p>
  );
}

interface MineProps {
  kind: string;
  to: string;
  at: number;
  actions?: ReactNode;
  state?: ReactNode;
  children: ReactNode;
}

/** What the person wrote. */
export function Mine({ kind, to, at, actions, state, children }: MineProps) {
  const { t, i18n } = useTranslation("conversation");
  const name = useName();
  const about = kind === "nudge" ? t("nudge") : kind === "answer" ? t("answer") : to === "*" ? t("to", { name: name(to) }) : "";
  return (
    <article className={styles.mine} aria-label={t("you")}>
      <div className={styles.bubble}>{children}</div>
      <footer className={styles.mineFoot}>
        {actions}
        {about && <span>{about}</span>}
        {state ?? <time dateTime={new Date(at * 1000).toISOString()}>{clockOf(at, i18n.language)}</time>}
      </footer>
    </article>
  );
}

function Actions({ text, onReply }: { text: string; onReply: () => void }) {
  const { t } = useTranslation("conversation");
  return (
    <span className={styles.actions}>
      <IconButton size="s" label={t("reply")} icon={<Icon name="reply" />} onClick={onReply} />
      <IconButton
        size="s"
        label={t("copy")}
        icon={<Icon name="copy" />}
        onClick={() => void navigator.clipboard?.writeText(text)}
      />
    </span>
  );
}

export function Thought({ item, isFirst }: { item: ThoughtItem; isFirst: boolean }) {
  const { t } = useTranslation("conversation");
  return (
    <article className={classes(styles.message, styles.thought)}>
      {isFirst && <Author who={item.who} at={item.at} />}
      <div className={styles.body}>
        <LongText text={item.text} />
        {item.isInterrupted && <p className={styles.cut}>{t("interrupted")}</p>}
      </div>
    </article>
  );
}
