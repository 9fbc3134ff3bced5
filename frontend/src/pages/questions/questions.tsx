// The open questions and approvals, above whatever page is shown.
import { useEffect, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import { Link, useMatch } from "react-router";

import { useMay } from "~/api/access";
import { useOverview, useQuestions } from "~/api/queries";
import {
  Button, classes, closeToast, Icon, IconButton, Keyboard, notify, toast, useKey, useNow,
} from "~/ui";
import { byNeed, changes, countdown, lineOf, type Place, type Question } from "~/ui/question";
import { QuestionCard } from "~/ui/QuestionCard";
import { openQuestion, showTray, useTray } from "~/ui/tray";
import styles from "./questions.module.css";

const NOTHING: Question[] = [];

export default function Questions() {
  const { t } = useTranslation("questions");
  const { data = NOTHING, isSuccess } = useQuestions("open");
  const tray = useTray();
  const open = byNeed(data, usePlace());
  const shown = open.find((one) => one.id === tray.question) ?? open[0];
  useAnnounced(data, isSuccess, tray.isOpen);
  const isOver = isSuccess && !data.length;
  useEffect(() => {
    if (isOver) showTray({ isOpen: false, question: "", movedTo: "" });
  }, [isOver]);
  const hasMoved = tray.isOpen && shown !== undefined && tray.movedTo === shown.id;
  const toggle = () => (hasMoved ? showTray({ isOpen: false, movedTo: "" }) : openQuestion(shown?.id ?? ""));
  useKey("q", t("openKey"), toggle, { isOn: open.length > 0 });
  useKey("Escape", t("closeKey"), () => showTray({ isOpen: false, movedTo: "" }), {
    isOn: tray.isOpen && open.length > 0,
    isForTyping: true,
  });
  if (!shown) return null;
  return (
    <section className={styles.tray} aria-label={t("open", { count: open.length })}>
      <Bar open={open} shown={shown} isOpen={tray.isOpen} />
      {tray.isOpen && (
        <div className={styles.panel}>
          <QuestionCard key={shown.id} question={shown} hasKeys={hasMoved} />
          {!hasMoved && shown.options.length > 0 && (
            <p className={styles.keysOff}>
              <Keyboard keys="q" /> {t("moveHere")}
            </p>
          )}
        </div>
      )}
    </section>
  );
}

const ENDED = new Set(["completed", "failed", "stopped"]);

/** Which agent's page this is, and which agents have ended. */
function usePlace(): Place {
  const here = useMatch("/agents/:agent/*")?.params.agent ?? "";
  const { data } = useOverview();
  return useMemo(() => {
    const ended = (data ?? []).filter((one) => ENDED.has(one.status)).map((one) => one.id);
    return { agent: here, ended: new Set<string>(ended) };
  }, [data, here]);
}

interface BarProps {
  open: readonly Question[];
  shown: Question;
  isOpen: boolean;
}

function Bar({ open, shown, isOpen }: BarProps) {
  const { t } = useTranslation("questions");
  const mayTalk = useMay("talk");
  const place = open.indexOf(shown);
  const go = (step: number) => {
    const next = open[(place + step + open.length) % open.length];
    if (next) openQuestion(next.id);
  };
  const toggle = () => (isOpen ? showTray({ isOpen: false, movedTo: "" }) : openQuestion(shown.id));
  return (
    <div className={styles.bar}>
      <button
        type="button"
        className={styles.head}
        aria-expanded={isOpen}
        onClick={toggle}
      >
        <span className={styles.count}>{t("open", { count: open.length })}</span>
        {!isOpen && (
          <span className={styles.first}>
            <b>{shown.from}</b> {t("ofAgent", { agent: shown.agent_name })}: {lineOf(shown)}
          </span>
        )}
        <Oldest open={open} />
      </button>
      {isOpen && open.length > 1 && (
        <span className={styles.steps}>
          <IconButton size="s" label={t("previous")} className={styles.back} icon={<Icon name="chevron" />} onClick={() => go(-1)} />
          <span>{t("of", { place: place + 1, count: open.length })}</span>
          <IconButton size="s" label={t("next")} icon={<Icon name="chevron" />} onClick={() => go(1)} />
        </span>
      )}
      <Link to="/questions" className={styles.all}>
        {t("all")}
      </Link>
      <Button
        size="s"
        look={isOpen ? "bare" : "main"}
        onClick={toggle}
      >
        {t(isOpen ? "later" : mayTalk ? "answer" : "look")} {!isOpen && <Keyboard keys="q" />}
      </Button>
    </div>
  );
}

/** When the first of them is due. */
function Oldest({ open }: { open: readonly Question[] }) {
  const { t } = useTranslation("questions");
  const now = useNow(1);
  const due = open[0]?.deadline_at;
  if (due == null) return null;
  return (
    <span className={classes(styles.due, due - now < 60 && styles.soon)}>
      {t("firstDue", { time: countdown(due, now) })}
    </span>
  );
}

const keyOf = (id: string) => `question ${id}`;

/** Say when a question opens, and take it back when it is open no longer. */
function useAnnounced(open: readonly Question[], isKnown: boolean, isTrayOpen: boolean): void {
  const { t } = useTranslation("questions");
  const known = useRef<ReadonlySet<string> | null>(null);
  useEffect(() => {
    if (!isKnown) return;
    const { came, gone } = changes(known.current, open);
    known.current = new Set(open.map((one) => one.id));
    gone.forEach((id) => closeToast(keyOf(id)));
    if (isTrayOpen) open.forEach((one) => closeToast(keyOf(one.id)));
    for (const one of came) {
      const title = t("asks", { name: one.from, agent: one.agent_name });
      const key = keyOf(one.id);
      const show = () => {
        closeToast(key);
        openQuestion(one.id);
      };
      const actions = (
        <Button size="s" look="main" onClick={show}>
          {t("answer")}
        </Button>
      );
      const about = lineOf(one);
      if (!isTrayOpen) toast({ key, title, about, tone: "ask", seconds: 10, actions });
      notify({ title, body: lineOf(one), tag: key, onClick: show });
    }
  }, [open, isKnown, isTrayOpen, t]);
}
