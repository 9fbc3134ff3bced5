// The text of a file with its lines numbered, and what is wrong with it at the line.
import { useRef } from "react";
import { useTranslation } from "react-i18next";

import type { SettingsProblem } from "~/api/system";
import { classes, Icon } from "~/ui";
import styles from "./settings.module.css";

interface TextEditorProps {
  label: string;
  text: string;
  /** What was changed in the form is not in the text yet. */
  isBusy: boolean;
  problems: readonly SettingsProblem[];
  onText: (text: string) => void;
}

export function TextEditor({ label, text, isBusy, problems, onText }: TextEditorProps) {
  const { t } = useTranslation("settings");
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const wrong = new Set(problems.map((problem) => problem.line));
  const count = text.split("\n").length;
  const toLine = (line: number) => {
    const field = area.current;
    if (!field) return;
    const lines = text.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    field.focus();
    field.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    field.scrollTop = (line - 3) * Number.parseFloat(getComputedStyle(field).lineHeight);
  };
  return (
    <div className={styles.text}>
      <div className={styles.lines}>
        <div ref={gutter} className={styles.gutter} aria-hidden="true">
          {Array.from({ length: count }, (_, place) => (
            <span key={place} className={classes(wrong.has(place + 1) && styles.wrongLine)}>
              {place + 1}
            </span>
          ))}
        </div>
        <textarea
          ref={area}
          className={styles.area}
          aria-label={t("textOf", { file: label })}
          aria-invalid={problems.length > 0 || undefined}
          value={text}
          readOnly={isBusy}
          spellCheck={false}
          autoCapitalize="off"
          wrap="off"
          placeholder={t("emptyText")}
          onChange={(event) => onText(event.target.value)}
          onScroll={(event) => {
            if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
          }}
        />
      </div>
      <Problems problems={problems} onLine={toLine} />
    </div>
  );
}

interface ProblemsProps {
  problems: readonly SettingsProblem[];
  onLine?: (line: number) => void;
}

export function Problems({ problems, onLine }: ProblemsProps) {
  const { t } = useTranslation("settings");
  if (!problems.length) return null;
  return (
    <ul className={styles.problems} aria-label={t("problemsHead")}>
      {problems.map((problem) => (
        <li key={`${problem.line} ${problem.detail}`}>
          <Icon name="warning" />
          {onLine ? (
            <button type="button" onClick={() => onLine(problem.line)}>
              {t("line", { line: problem.line })}
            </button>
          ) : (
            <span>{t("line", { line: problem.line })}</span>
          )}
          <span>{problem.detail}</span>
        </li>
      ))}
    </ul>
  );
}
