// The turns of an Agentic Team, oldest first: all, or those from one role to another.
import { useTranslation } from "react-i18next";

import type { RolesRun } from "~/api/roles";
import { classes, Markdown, Time } from "~/ui";
import styles from "./communication.module.css";

interface TurnsProps {
  run: RolesRun;
  pair?: { from: string; to: string };
}

export function Turns({ run, pair }: TurnsProps) {
  const { t } = useTranslation("communication");
  const shown = run.turns
    .map((turn, index) => ({ turn, at: run.times[index] ?? null }))
    .filter(({ turn }) => !pair || (turn.from_role === pair.from && turn.to_role === pair.to));
  return (
    <section className={styles.texts} role="log" aria-label={t("turns")}>
      {shown.map(({ turn, at }) => (
        <article key={turn.turn} className={classes(styles.text, turn.success && styles.own)}>
          <header>
            <b>{t("turn", { number: turn.turn, from: turn.from_role, to: turn.to_role })}</b>{" "}
            {turn.from_agent} {at !== null && <Time at={at} />}
          </header>
          <Markdown text={turn.message} />
        </article>
      ))}
      <p>{run.role ? t("next", { role: run.role, max: run.max_turns }) : t(`ended_${run.status}`)}</p>
    </section>
  );
}
