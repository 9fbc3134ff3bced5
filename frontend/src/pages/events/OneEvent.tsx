// One event in a line; opened, with everything that it holds and its address.
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import type { AgentEvent } from "~/live/eventLog";
import { toneOf, useEventText } from "~/live/eventText";
import { classes, Code, Icon, IconButton, paths, Time, toast } from "~/ui";
import styles from "./events.module.css";

interface OneEventProps {
  event: AgentEvent;
  isOpen: boolean;
  onOpen: (isOpen: boolean) => void;
}

export function OneEvent({ event, isOpen, onOpen }: OneEventProps) {
  const { line } = useEventText();
  return (
    <article className={classes(styles.event, isOpen && styles.open)}>
      <button
        type="button"
        className={styles.line}
        aria-expanded={isOpen}
        onClick={() => onOpen(!isOpen)}
      >
        <span className={styles.at}>
          <Time at={event.ts} />
        </span>
        <span className={classes(styles.type, styles[toneOf(event)])}>{event.type}</span>
        <span className={styles.entity}>{event.who}</span>
        <span className={styles.said}>{line(event)}</span>
      </button>
      {isOpen && <Details event={event} />}
    </article>
  );
}

function Details({ event }: { event: AgentEvent }) {
  const { t } = useTranslation("events");
  const copy = () =>
    navigator.clipboard.writeText(window.location.href).then(
      () => toast({ title: t("copied"), seconds: 2 }),
      () => toast({ title: t("notCopied"), tone: "bad" }),
    );
  return (
    <div className={styles.details}>
      <p className={styles.about}>
        <span>#{event.seq}</span>
        <Time at={event.ts} form="full" />
        {event.node_id && <Link to={paths.board(event.agent_id, event.node_id)}>{t("toNode")}</Link>}
        {event.run_id && <span>{t("run", { run: event.run_id })}</span>}
        <IconButton
          size="s"
          label={t("copy")}
          icon={<Icon name="copy" />}
          onClick={() => void copy()}
        />
      </p>
      <Code text={JSON.stringify(event.data ?? {}, null, 2)} language="json" />
    </div>
  );
}
