// A task for the team and its terms: kept in the browser while one types, checked before it starts.
import { type FormEvent, type KeyboardEvent, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { type RoleTeam, useRolesCheck } from "~/api/roles";
import { ModelInput } from "~/pages/new-agent/inputs";
import { useSettled } from "~/ui";
import { Button, Check, ErrorNote, Icon, Input, TextArea } from "~/ui";
import { isTurns, keepTask, keptTask, type TaskDraft } from "./draft";
import { spoken } from "./tasks";
import styles from "./roles.module.css";

const PAUSE_MILLISECONDS = 350;

export interface TaskState {
  draft: TaskDraft;
  put: (part: Partial<TaskDraft>) => void;
  /** Who would do it, and what is wrong with that; undefined until it is known. */
  team: RoleTeam | undefined;
}

/** What is typed, and the team as it would do it. `model` is the model of the agent. */
export function useTaskDraft(model = ""): TaskState {
  const [draft, setDraft] = useState(keptTask);
  useEffect(() => keepTask(draft), [draft]);
  const named = useSettled(draft.model.trim() || model, PAUSE_MILLISECONDS);
  const { data } = useRolesCheck({ offline: draft.isOffline, model: named || null });
  return { draft, put: (part) => setDraft((known) => ({ ...known, ...part })), team: data };
}

interface TaskFieldsProps extends TaskState {
  label: string;
  /** The first task of an agent. */
  isNew?: boolean;
  error: unknown;
  isBusy: boolean;
  onStart: () => void;
  onClear?: () => void;
}

export function TaskFields({ label, draft, put, team, isNew = false, error, isBusy, onStart, onClear }: TaskFieldsProps) {
  const { t } = useTranslation("roles");
  const problems = team?.problems ?? [];
  const isPossible = draft.task.trim() !== "" && isTurns(draft.maxTurns) && !problems.length;
  const start = () => {
    if (isPossible && !isBusy) onStart();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    start();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) start();
  };
  const options = (
    <div className={styles.pair}>
      <Input
        label={t("folder")}
        hint={t("folderHint")}
        placeholder="/home/me/project"
        spellCheck={false}
        value={draft.folder}
        onChange={(event) => put({ folder: event.target.value })}
      />
      <Input
        label={t("maxTurns")}
        hint={t("maxTurnsHint", { count: team?.max_turns ?? 12 })}
        problem={isTurns(draft.maxTurns) ? undefined : t("notTurns")}
        inputMode="numeric"
        placeholder={String(team?.max_turns ?? "")}
        value={draft.maxTurns}
        onChange={(event) => put({ maxTurns: event.target.value })}
      />
      <ModelInput
        label={t("model")}
        hint={t(isNew ? "modelHint" : "modelKept")}
        placeholder={team?.roles.find((role) => role.kind === "model" && !role.agent)?.model ?? ""}
        problem={undefined}
        value={draft.model}
        onChange={(model) => put({ model })}
      />
      <div className={styles.checks}>
        <Check
          label={t("offline")}
          checked={draft.isOffline}
          onChange={(event) => put({ isOffline: event.target.checked })}
        />
      </div>
    </div>
  );
  const foot = (
    <div className={styles.formFoot}>
      <Button look="main" type="submit" disabled={!isPossible} isBusy={isBusy}>
        {t("start")}
      </Button>
      {onClear && (
        <Button look="bare" onClick={onClear}>
          {t("clear")}
        </Button>
      )}
    </div>
  );
  return (
    <form className={styles.form} onSubmit={submit} aria-label={label}>
      <TextArea
        label={label}
        {...(isNew ? { hint: t("taskHint", { lead: spoken(team?.lead_role ?? "project_manager") }) } : {})}
        placeholder={t("taskExample")}
        rows={isNew ? 5 : 2}
        required
        value={draft.task}
        onKeyDown={onKeyDown}
        onChange={(event) => put({ task: event.target.value })}
      />
      {isNew ? (
        options
      ) : (
        <>
          <div className={styles.row}>
            <Check
              label={t("followUp")}
              checked={draft.followsUp}
              onChange={(event) => put({ followsUp: event.target.checked })}
            />
            {foot}
          </div>
          <details className={styles.options}>
            <summary>{t("options")}</summary>
            {options}
          </details>
          {problems.length > 0 && <Problems problems={problems} />}
        </>
      )}
      {error ? <ErrorNote error={error} /> : null}
      {isNew && foot}
    </form>
  );
}

export function Problems({ problems }: { problems: readonly string[] }) {
  return (
    <ul className={styles.problems} aria-live="polite">
      {problems.map((problem) => (
        <li key={problem}>
          <Icon name="warning" />
          <span>{problem}</span>
        </li>
      ))}
    </ul>
  );
}
