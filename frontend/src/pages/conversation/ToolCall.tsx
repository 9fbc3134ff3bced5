// A tool call: one line, unfolded with what it was given and what came of it.
import { memo, useState } from "react";
import { useTranslation } from "react-i18next";

import { Button, classes, Code, formatSeconds, Icon, useNow } from "~/ui";
import { useCallOutput } from "~/api/stretches";
import type { Outcome, ToolItem } from "./items";
import { givenOf, outputOf, subjectOf } from "./toolText";
import styles from "./ToolCall.module.css";

const LONG = 4000;
const SIGNS: Record<Outcome, string> = { running: "●", done: "✓", failed: "✗" };
/** What is unfolded stays so while its row is off the screen. */
const unfolded = new Set<string>();

interface ToolProps {
  item: ToolItem;
  agent: string;
}

export const ToolCall = memo(function ToolCall({ item, agent }: ToolProps) {
  const { t } = useTranslation("conversation");
  const [isOpen, setOpen] = useState(unfolded.has(item.key));
  const toggle = () => {
    if (isOpen) unfolded.delete(item.key);
    else unfolded.add(item.key);
    setOpen(!isOpen);
  };
  const { outcome, exitCode } = item;
  return (
    <div className={classes(styles.call, isOpen && styles.isOpen)}>
      <button type="button" className={styles.line} aria-expanded={isOpen} onClick={toggle}>
        <span className={classes(styles.sign, styles[outcome])} aria-hidden="true">
          {SIGNS[outcome]}
        </span>
        <span className="unseen">{t(`outcome.${outcome}`)}</span>
        <span className={styles.name}>{item.name}</span>
        <span className={styles.subject}>{subjectOf(item)}</span>
        {exitCode !== null && exitCode !== 0 && (
          <span className={styles.exit}>{t("exit", { code: exitCode })}</span>
        )}
        <Took item={item} />
        <span className={styles.arrow}>
          <Icon name="chevron" size={14} />
        </span>
      </button>
      {isOpen && <Unfolded item={item} agent={agent} />}
    </div>
  );
});

function Took({ item: { startedAt, endedAt, outcome } }: { item: ToolItem }) {
  if (endedAt !== null) {
    return <span className={styles.took}>{formatSeconds(Math.max(0, endedAt - startedAt))}</span>;
  }
  return outcome === "running" ? <Running since={startedAt} /> : null;
}

function Running({ since }: { since: number }) {
  const now = useNow(1);
  return <span className={styles.took}>{formatSeconds(Math.max(0, Math.floor(now - since)))}</span>;
}

function Unfolded({ item, agent }: ToolProps) {
  const { t } = useTranslation("conversation");
  const whole = useCallOutput(agent, item);
  const output = item.endedAt === null ? null : outputOf(whole);
  return (
    <div className={styles.unfolded}>
      {givenOf(item).map(({ name, text, language }) => (
        <Part key={name} title={name || t("input")} text={text} language={language} />
      ))}
      {output ? (
        <Part title={t("output")} text={output.text} language={output.language} />
      ) : (
        <p className={styles.none}>{t("noOutputYet")}</p>
      )}
      {item.exitCode !== null && <p className={styles.none}>{t("exitCode", { code: item.exitCode })}</p>}
    </div>
  );
}

interface PartProps {
  title: string;
  text: string;
  language: string;
}

function Part({ title, text, language }: PartProps) {
  const { t } = useTranslation("conversation");
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > LONG && !isWhole;
  return (
    <section>
      <h3 className={styles.title}>{title}</h3>
      {text.trim() ? (
        <Code text={isLong ? text.slice(0, LONG) : text} language={language} />
      ) : (
        <p className={styles.none}>{t("empty")}</p>
      )}
      {isLong && (
        <Button size="s" onClick={() => setWhole(true)}>
          {t("showWhole", { count: text.length })}
        </Button>
      )}
    </section>
  );
}
