// The tasks of an agent in a list; the open task shows its turns as they arrive.
import { useLayoutEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import type { Schemas } from "~/api/client";
import type { RolesRun } from "~/api/roles";
import { Badge, Button, classes, Duration, Icon, IconButton, Markdown, Time, type Tone } from "~/ui";
import { agentOf, type Pair, spoken, type TurnRow } from "./tasks";
import styles from "./roles.module.css";

type Run = Schemas["RunView"];

const AT_END = 80;
const LONG_TEXT = 900;
const LONG_LINES = 14;

const TONES: Readonly<Record<string, Tone>> = {
  running: "busy",
  finalized: "good",
  completed: "good",
  max_turns: "ask",
  lead_failed: "bad",
  failed: "bad",
  stopped: "quiet",
};

interface ThreadProps {
  tasks: readonly Run[];
  run: RolesRun;
  rows: readonly TurnRow[];
  /** Only the turns on this way are shown. */
  only: Pair | null;
  /** What the role whose turn it is does right now. */
  doing: string;
  /** The turn whose log is shown beside it. */
  turn: number;
  workerModel: string;
  onRun: (run: string) => void;
  onTurn: (turn: number) => void;
  onAll: () => void;
}

export function Thread({ tasks, run, rows, only, doing, turn, workerModel, onRun, onTurn, onAll }: ThreadProps) {
  const { t } = useTranslation("roles");
  const scroller = useStaysAtEnd();
  return (
    <div className={styles.thread} ref={scroller} tabIndex={0} role="region" aria-label={t("timeline")}>
      <ol aria-label={t("tasks")}>
        {tasks.map((task, place) => {
          const isOpen = task.id === run.run;
          return (
            <li key={task.id} className={styles.task}>
              <TaskHead
                task={task}
                number={place + 1}
                status={isOpen ? run.status : task.status}
                isOpen={isOpen}
                onOpen={() => onRun(task.id)}
              />
              {isOpen && (
                <Turns
                  number={place + 1}
                  run={run}
                  rows={rows}
                  only={only}
                  doing={doing}
                  turn={turn}
                  workerModel={workerModel}
                  onTurn={onTurn}
                  onAll={onAll}
                />
              )}
            </li>
          );
        })}
      </ol>
    </div>
  );
}

interface TaskHeadProps {
  task: Run;
  number: number;
  status: string;
  isOpen: boolean;
  onOpen: () => void;
}

function TaskHead({ task, number, status, isOpen, onOpen }: TaskHeadProps) {
  const { t } = useTranslation("roles");
  const about = (
    <span className={styles.taskAbout}>
      <span>{t("taskNumber", { number })}</span>
      <Badge tone={TONES[status] ?? "quiet"}>{t(`status_${status}` as "status_running")}</Badge>
      <Time at={task.started_at} />
    </span>
  );
  if (isOpen) {
    return (
      <header className={styles.taskHead}>
        {about}
        <p className={styles.goal}>{task.goal}</p>
      </header>
    );
  }
  return (
    <button type="button" className={classes(styles.taskHead, styles.closed)} onClick={onOpen}>
      {about}
      <span className={styles.oneLine}>{task.goal}</span>
      <span className={classes(styles.oneLine, styles.quiet)}>{task.result ?? task.reason ?? ""}</span>
    </button>
  );
}

type TurnsProps = Pick<ThreadProps, "run" | "rows" | "only" | "doing" | "turn" | "workerModel" | "onTurn" | "onAll"> & {
  number: number;
};

function Turns({ number, run, rows, only, doing, turn, workerModel, onTurn, onAll }: TurnsProps) {
  const { t } = useTranslation("roles");
  return (
    <>
      {only && (
        <p className={styles.only}>
          <Icon name="filter" />
          {t("onlyTurns", { from: spoken(only.from), to: spoken(only.to) })}
          <Button size="s" onClick={onAll}>
            {t("allTurns")}
          </Button>
        </p>
      )}
      <div role="log" aria-label={t("turnsOf", { number })}>
        {rows.map((row) => (
          <Turn
            key={row.turn.turn}
            row={row}
            agent={agentOf(row.turn, workerModel)}
            isShown={row.turn.turn === turn}
            onLog={onTurn}
          />
        ))}
        {run.role && !only && (
          <div className={classes(styles.turn, styles.now)}>
            <span className={styles.number} aria-hidden="true">
              {run.turns.length + 1}
            </span>
            <p>
              <b>{t("atWork", { role: spoken(run.role) })}</b> <span className={styles.quiet}>{doing}</span>
            </p>
          </div>
        )}
      </div>
      {run.final_output !== null && !only && (
        <section className={classes(styles.final, run.status !== "finalized" && styles.isUnfinished)} aria-label={t("finalOutput")}>
          <h3>{t("finalOutput")}</h3>
          <Markdown text={run.final_output} />
        </section>
      )}
    </>
  );
}

interface TurnProps {
  row: TurnRow;
  agent: string;
  isShown: boolean;
  onLog: (turn: number) => void;
}

function Turn({ row, agent, isShown, onLog }: TurnProps) {
  const { t } = useTranslation("roles");
  const { turn, seconds, endedAt, nodes } = row;
  return (
    <article className={classes(styles.turn, isShown && styles.isShown, !turn.success && styles.hasFailed)}>
      <span className={styles.number} aria-hidden="true">
        {turn.turn}
      </span>
      <div className={styles.turnText}>
        <header>
          <h3>
            {spoken(turn.from_role)} <span aria-hidden="true">→</span>
            <span className="unseen"> {t("to")} </span> {spoken(turn.to_role)}
          </h3>
          <span className={styles.turnFacts}>
            {!turn.success && <Badge tone="bad">{t("failed")}</Badge>}
            <span>{agent}</span>
            {seconds !== null && <Duration seconds={seconds} />}
            {endedAt !== null && <Time at={endedAt} />}
            {nodes.length > 0 && (
              <IconButton
                size="s"
                label={t("showLog", { number: turn.turn })}
                icon={<Icon name="events" />}
                aria-pressed={isShown}
                onClick={() => onLog(turn.turn)}
              />
            )}
          </span>
        </header>
        <LongText text={turn.message} />
      </div>
    </article>
  );
}

/** A message; of a long one the beginning, until all of it is wanted. */
function LongText({ text }: { text: string }) {
  const { t } = useTranslation("roles");
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > LONG_TEXT || text.split("\n").length > LONG_LINES;
  return (
    <>
      <div className={classes(styles.text, isLong && !isWhole && styles.cut)}>
        <Markdown text={text} />
      </div>
      {isLong && (
        <Button size="s" look="bare" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {t(isWhole ? "showLess" : "showAll")}
        </Button>
      )}
    </>
  );
}

/** Keep an element scrolled to its end as it grows, unless one has scrolled up. */
function useStaysAtEnd() {
  const element = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const at = element.current;
    if (!at) return;
    const note = () => {
      isAtEnd.current = at.scrollHeight - at.scrollTop - at.clientHeight < AT_END;
    };
    at.addEventListener("scroll", note, { passive: true });
    return () => at.removeEventListener("scroll", note);
  }, []);
  useLayoutEffect(() => {
    const at = element.current;
    if (at && isAtEnd.current) at.scrollTop = at.scrollHeight;
  });
  return element;
}
