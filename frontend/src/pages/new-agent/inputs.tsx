// Fields of the form of a new agent: a model to choose or type, a plan file to read.
import { type ChangeEvent, type ReactNode, useId, useRef } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { useModels } from "~/api/queries";
import { Button, Check, Field, formatSize, Icon, Input, paths, Select } from "~/ui";
import { type Draft, isMade, modelsOf } from "./draft";
import styles from "./new-agent.module.css";

interface ModelInputProps {
  label: string;
  hint: string;
  placeholder: string;
  problem: ReactNode;
  value: string;
  onChange: (model: string) => void;
}

export function ModelInput({ onChange, ...rest }: ModelInputProps) {
  const { t } = useTranslation("newAgent");
  const { data } = useModels();
  const list = useId();
  return (
    <div>
      <Input
        {...rest}
        list={list}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => onChange(event.target.value)}
      />
      <datalist id={list}>
        {modelsOf(data?.providers ?? []).map(({ name, isUsable }) => (
          <option key={name} value={name}>
            {isUsable ? name : t("notUsable", { name })}
          </option>
        ))}
      </datalist>
    </div>
  );
}

/** When the nodes are planned, and whether only the plan is wanted. */
export function Planning({ draft, problem, onChange }: PlanFileProps) {
  const { t } = useTranslation("newAgent");
  return (
    <>
      <Select
        label={t("planning")}
        problem={problem}
        value={draft.planning}
        onChange={(event) => onChange({ planning: event.target.value as Draft["planning"] })}
      >
        <option value="">{t("asSettings")}</option>
        <option value="dynamic">{t("dynamic")}</option>
        <option value="static">{t("static")}</option>
        <option value="hybrid">{t("hybrid")}</option>
      </Select>
      {isMade(draft) && (
        <Check
          label={t("planOnly")}
          checked={draft.isPlanOnly}
          onChange={(event) => onChange({ isPlanOnly: event.target.checked })}
        />
      )}
    </>
  );
}

interface PlanFileProps {
  draft: Draft;
  problem: ReactNode;
  onChange: (part: Partial<Draft>) => void;
}

export function PlanFile({ draft, problem, onChange }: PlanFileProps) {
  const { t } = useTranslation("newAgent");
  const chooser = useRef<HTMLInputElement>(null);
  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0];
    event.target.value = "";
    if (file) onChange({ plan: await file.text(), planName: file.name });
  };
  return (
    <Field label={t("plan")} hint={t("planHint")} problem={problem}>
      {(control) => (
        <div className={styles.file}>
          <input
            {...control}
            ref={chooser}
            className="unseen"
            type="file"
            accept=".yaml,.yml,.json,.md,text/*"
            tabIndex={-1}
            onChange={(event) => void read(event)}
          />
          <Button size="s" icon={<Icon name="file" />} onClick={() => chooser.current?.click()}>
            {t("choosePlan")}
          </Button>
          <Link to={paths.plans()}>{t("openPlan")}</Link>
          {draft.plan && (
            <>
              <span className={styles.fileName}>
                {draft.planName} · {formatSize(draft.plan.length)}
              </span>
              <Button size="s" look="bare" onClick={() => onChange({ plan: "", planName: "" })}>
                {t("removePlan")}
              </Button>
            </>
          )}
        </div>
      )}
    </Field>
  );
}
