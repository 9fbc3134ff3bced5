// What is not in the thread yet: a text that is being written, and one that is being sent.
import { useTranslation } from "react-i18next";

import { Button, Markdown, Spinner } from "~/ui";
import { Author, Mine } from "./Message";
import styles from "./Message.module.css";
import { type Outgoing, outbox } from "./outbox";

interface StreamedProps {
  who: string;
  text: string;
  isBroken: boolean;
}

export function StreamedMessage({ who, text, isBroken }: StreamedProps) {
  const { t } = useTranslation("conversation");
  return (
    <article className={styles.message} aria-busy="true">
      <Author who={who} at={Math.floor(Date.now() / 1000)} />
      <div className={styles.body}>
        <Markdown text={text} />
        <span className={styles.caret} aria-hidden="true" />
        {isBroken && <p className={styles.cut}>{t("streamGap")}</p>}
      </div>
    </article>
  );
}

export function PendingMessage({ sent }: { sent: Outgoing }) {
  const { t } = useTranslation("conversation");
  const state =
    sent.state === "failed" ? (
      <span className={styles.failed} role="alert">
        {t("sendFailed", { message: sent.error })}
        <Button size="s" onClick={() => outbox.retry(sent.key)}>
          {t("retry")}
        </Button>
        <Button size="s" look="bare" onClick={() => outbox.drop(sent.key)}>
          {t("discard")}
        </Button>
      </span>
    ) : (
      <span className={styles.sending}>
        {sent.state === "sending" && <Spinner />}
        {t(sent.state === "sent" ? "sent" : "sending")}
      </span>
    );
  return (
    <Mine kind="text" to={sent.body.to ?? ""} at={sent.at} state={state}>
      <Markdown text={sent.body.message} />
    </Mine>
  );
}
