// What is no message: what the team did, and what an entity was told by others.
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { detailOf, toneOf, useEventText } from "~/live/eventText";
import { classes, Icon, paths } from "~/ui";
import { clockOf } from "./days";
import type { EventItem, HeardItem } from "./items";
import { LongText, useName } from "./Message";
import styles from "./Notes.module.css";

const SIGN_OF = { good: "✓", busy: "●", ask: "‖", bad: "✗", quiet: "·" } as const;

export function EventNote({ item, agent }: { item: EventItem; agent: string }) {
  const { t, i18n } = useTranslation("conversation");
  const name = useName();
  const { sentence } = useEventText();
  const { event } = item;
  const said = sentence(event);
  const tone = toneOf(event);
  const body = detailOf(event);
  const isGoal = event.type === "agent.created";
  if (event.audience === "everyone" && body) {
    return (
      <section className={classes(styles.result, styles[`${tone}Result`])}>
        <h2>
          <span className={styles[tone]} aria-hidden="true">
            {isGoal ? "◎" : SIGN_OF[tone]}
          </span>{" "}
          {said.charAt(0).toUpperCase() + said.slice(1)}
        </h2>
        <LongText text={body} />
        <p className={styles.at}>
          {!isGoal && (
            <Link to={paths.result(agent, event.run_id ?? "")}>{t("resultPage")}</Link>
          )}{" "}
          {clockOf(item.at, i18n.language)}
        </p>
      </section>
    );
  }
  const node = event.node_id;
  return (
    <Note
      sign={<span className={styles[tone]}>{SIGN_OF[tone]}</span>}
      at={item.at}
      body={body}
      title={
        <>
          <b>{name(event.who)}</b> {node ? <Link to={paths.board(agent, node)}>{said}</Link> : said}
        </>
      }
    />
  );
}

export function HeardNote({ item, entity }: { item: HeardItem; entity: string }) {
  const { t } = useTranslation("conversation");
  const name = useName();
  const isOwn = item.from === entity;
  const title = isOwn ? t("sentTo", { name: name(item.to) }) : t("heardFrom", { name: name(item.from) });
  return (
    <Note
      sign={<span className={styles.quiet}>{isOwn ? "→" : "←"}</span>}
      at={item.at}
      title={title}
      body={item.text}
    />
  );
}

interface NoteProps {
  sign: ReactNode;
  title: ReactNode;
  at: number;
  body: string;
}

/** One quiet line; what belongs to it is folded unless it is short. */
function Note({ sign, title, at, body }: NoteProps) {
  const { t, i18n } = useTranslation("conversation");
  const [isOpen, setOpen] = useState(false);
  const text = body.trim();
  return (
    <div className={styles.note}>
      <span className={styles.sign} aria-hidden="true">
        {sign}
      </span>
      <div className={styles.text}>
        <span className={styles.title}>{title}</span>
        {text && !isOpen && <span className={styles.beginning}>{text.slice(0, 240)}</span>}
        {isOpen && (
          <div className={styles.body}>
            <LongText text={text} />
          </div>
        )}
      </div>
      {text && (
        <button
          type="button"
          className={classes(styles.opener, isOpen && styles.isOpen)}
          aria-expanded={isOpen}
          aria-label={t(isOpen ? "fold" : "unfold")}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name="chevron" size={14} />
        </button>
      )}
      <span className={styles.clock}>{clockOf(at, i18n.language)}</span>
    </div>
  );
}
