// A question to the person: who asks what, about what, until when, and the ways to answer.
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { useMay } from "~/api/access";
import { useAnswer } from "~/api/actions";
import { useQuestions } from "~/api/queries";
import { Button } from "./Button";
import { classes } from "./classes";
import { TextArea } from "./fields";
import { oneLine } from "./format";
import { Icon } from "./Icon";
import { Code, Markdown } from "./Markdown";
import { Keyboard, useKey } from "./keys";
import { paths } from "./paths";
import { ALLOW_ONCE, askedOf, countdown, DENY, type Question } from "./question";
import styles from "./QuestionCard.module.css";
import { openQuestion } from "./tray";
import { Badge, Time, useNow } from "./values";

interface CardProps {
  question: Question;
  /** The keys 1 to 9 answer this one, once it has been shown for a moment. */
  hasKeys: boolean;
}

export function QuestionCard({ question, hasKeys }: CardProps) {
  const { t } = useTranslation("questions");
  const isApproval = question.kind === "approval";
  const needed = question.kind === "question" ? "talk" : "control"; // an approval or money: all rights
  const mayAnswer = useMay(needed);
  return (
    <article className={styles.card} aria-label={t("from", { name: question.from })}>
      <header className={styles.head}>
        <Link to={paths.entity(question.agent, question.from)} className={styles.asker}>
          {question.from}
        </Link>
        <Link to={paths.agent(question.agent)} className={styles.agent}>
          {t("ofAgent", { agent: question.agent_name })}
        </Link>
        <Badge tone={question.urgency === "urgent" ? "bad" : "ask"}>
          {t(question.urgency === "urgent" ? "urgent" : `kind.${question.kind}`)}
        </Badge>
        <span className={styles.at}>
          <Time at={question.asked_at} />
        </span>
      </header>
      <div className={styles.asked}>
        <Markdown text={askedOf(question)} />
      </div>
      {isApproval && question.about && <Proposed question={question} />}
      <Due question={question} />
      {mayAnswer ? (
        <Answers key={question.id} question={question} hasKeys={hasKeys} />
      ) : (
        <p className={styles.about}>{t("mayOnlyLook", { scope: needed })}</p>
      )}
    </article>
  );
}

/** What would be done: the command, or how a file would change. */
function Proposed({ question }: { question: Question }) {
  const { t } = useTranslation("questions");
  const { about, command, diff } = question;
  if (!about) return null;
  const shown = command || about.subject;
  return (
    <div className={styles.about}>
      <p className={styles.tool}>
        <code>{about.tool}</code>
        {about.rule && <span>{t("rule", { rule: about.rule })}</span>}
      </p>
      {diff ? (
        <Code text={diff} language="diff" />
      ) : about.arguments ? (
        <Code text={about.arguments} language="json" />
      ) : (
        shown && <Code text={shown} language={command ? "bash" : ""} />
      )}
      {about.remember && about.remember !== about.subject && (
        <p className={styles.remember}>{t("remember", { pattern: oneLine(about.remember) })}</p>
      )}
    </div>
  );
}

function Due({ question: { deadline_at: due, default: usual, kind } }: { question: Question }) {
  const { t } = useTranslation("questions");
  const now = useNow(1);
  if (due === null) return null;
  const isSoon = due - now < 60;
  const then =
    usual !== null ? t("thenDefault", { usual }) : t(kind === "question" ? "thenDecides" : "thenDenied");
  return (
    <p className={classes(styles.due, isSoon && styles.soon)}>
      <Icon name="trigger" />
      <span role="timer">{t("dueIn", { time: countdown(due, now) })}</span>
      <span>{then}</span>
    </p>
  );
}

/** How long a card is shown before it can be answered: a press meant for another one is over then. */
export const SETTLE_MILLISECONDS = 600;

/** Whether something has been the case for a moment. */
function useSettled(isOn: boolean): boolean {
  const [isSettled, setSettled] = useState(false);
  useEffect(() => {
    if (!isOn) return;
    const timer = setTimeout(() => setSettled(true), SETTLE_MILLISECONDS);
    return () => {
      clearTimeout(timer);
      setSettled(false);
    };
  }, [isOn]);
  return isOn && isSettled;
}

function Answers({ question, hasKeys }: CardProps) {
  const { t } = useTranslation("questions");
  const [text, setText] = useState("");
  const answer = useAnswer();
  const isApproval = question.kind === "approval";
  const isShown = useSettled(true);
  const takesKeys = useSettled(hasKeys);
  const say = (words: string) => {
    if (words.trim() && !answer.isPending) answer.act({ id: question.id, answer: words.trim() });
  };
  const sayText = () => say(isApproval && text.trim() ? `${DENY}: ${text.trim()}` : text);
  return (
    <div className={styles.answers}>
      <div className={styles.options} role="group" aria-label={t("options")}>
        {question.options.map((option, place) => (
          <Option
            key={option}
            option={option}
            number={place + 1}
            hasKey={takesKeys && place < 9}
            isBusy={answer.isPending && answer.variables?.input.answer === option}
            isOff={answer.isPending || !isShown}
            onSay={say}
          />
        ))}
      </div>
      <form
        className={styles.free}
        onSubmit={(event) => {
          event.preventDefault();
          sayText();
        }}
      >
        <TextArea
          label={t(isApproval ? "reason" : "words")}
          isLabelUnseen
          rows={1}
          placeholder={t(isApproval ? "reason" : "words")}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            sayText();
          }}
        />
        <Button type="submit" look={isApproval ? "danger" : "plain"} disabled={!text.trim()} isBusy={answer.isPending}>
          {t(isApproval ? "denyBecause" : "answer")}
        </Button>
      </form>
    </div>
  );
}

interface OptionProps {
  option: string;
  number: number;
  hasKey: boolean;
  isBusy: boolean;
  isOff: boolean;
  onSay: (words: string) => void;
}

function Option({ option, number, hasKey, isBusy, isOff, onSay }: OptionProps) {
  const { t } = useTranslation("questions");
  useKey(String(number), t("optionKey", { option }), (event) => !event.repeat && onSay(option), {
    isOn: hasKey,
  });
  const look = option === DENY ? "danger" : option === ALLOW_ONCE ? "main" : "plain";
  return (
    <Button look={look} isBusy={isBusy} disabled={isOff} onClick={() => onSay(option)} className={styles.option}>
      {option}
      {hasKey && <Keyboard keys={String(number)} />}
    </Button>
  );
}

/** How a question that is shown somewhere stands: open with a way to answer, or what became of it. */
export function QuestionState({ id }: { id: string }) {
  const { t } = useTranslation("questions");
  const { data } = useQuestions("open");
  const question = data?.find((one) => one.id === id);
  if (!question) return null;
  return (
    <p className={styles.state}>
      <Button size="s" look="main" onClick={() => openQuestion(id)}>
        {t("answerIt")}
      </Button>
      {question.deadline_at !== null && <Left until={question.deadline_at} />}
    </p>
  );
}

function Left({ until }: { until: number }) {
  const { t } = useTranslation("questions");
  const now = useNow(1);
  return <span className={styles.left}>{t("dueIn", { time: countdown(until, now) })}</span>;
}
