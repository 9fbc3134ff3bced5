// The form of a new trigger: what it waits for, what it does, and when it would fire.
import { type ReactNode, useDeferredValue, useState } from "react";
import { useTranslation } from "react-i18next";

import { useAddTrigger } from "~/api/actions";
import { useTriggerPlan } from "~/api/system";
import { Button, Dialog, DialogActions, ErrorNote, Icon, Input, Select, TextArea, Time } from "~/ui";
import {
  ACTIONS,
  type ActionType,
  type ConfigField,
  type Draft,
  FIELDS,
  newDraft,
  type PayloadField,
  PAYLOADS,
  planOf,
  requestOf,
  type Trigger,
  type TriggerType,
  TYPES,
} from "./triggerForm";
import styles from "./triggers.module.css";

const LONG: readonly (ConfigField | PayloadField)[] = ["task", "content", "filter"];
const MISSED = ["once", "skip", "all"] as const satisfies readonly Trigger["missed"][];
const here = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

export function AddTrigger({ agent, onClose }: { agent: string; onClose: () => void }) {
  const { t } = useTranslation("triggers");
  const { t: common } = useTranslation("common");
  const [draft, setDraft] = useState(() => newDraft(here()));
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const write = (field: ConfigField | PayloadField, text: string) =>
    setDraft((before) => ({ ...before, values: { ...before.values, [field]: text } }));
  const add = useAddTrigger(agent, { onSuccess: onClose, onError: () => undefined });
  const request = requestOf(draft);
  return (
    <Dialog isOpen isWide onClose={onClose} title={t("add")} about={t("addAbout")}>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (request) add.act(request);
        }}
      >
        <Select
          label={t("when")}
          value={draft.type}
          onChange={(event) => change({ type: event.target.value as TriggerType })}
        >
          {TYPES.map((type) => (
            <option key={type} value={type}>
              {t(`type_${type}`)}
            </option>
          ))}
        </Select>
        <div className={styles.fields}>
          {FIELDS[draft.type].map((field) => (
            <OneField key={field} field={field} draft={draft} onWrite={write} />
          ))}
        </div>
        <Plan agent={agent} draft={draft} />
        <Select
          label={t("does")}
          value={draft.action}
          onChange={(event) => change({ action: event.target.value as ActionType })}
        >
          {ACTIONS.map((action) => (
            <option key={action} value={action}>
              {t(`action_${action}`)}
            </option>
          ))}
        </Select>
        {PAYLOADS[draft.action].map((field) => (
          <OneField key={field} field={field} draft={draft} onWrite={write} />
        ))}
        <div className={styles.fields}>
          <Input
            label={t("name")}
            placeholder={t("nameHint")}
            value={draft.name}
            maxLength={60}
            onChange={(event) => change({ name: event.target.value })}
          />
          <Select
            label={t("missed")}
            value={draft.missed}
            onChange={(event) => change({ missed: event.target.value as Trigger["missed"] })}
          >
            {MISSED.map((policy) => (
              <option key={policy} value={policy}>
                {t(`missed_${policy}`)}
              </option>
            ))}
          </Select>
        </div>
        {add.error && <ErrorNote error={add.error} />}
        <DialogActions>
          <Button onClick={onClose}>{common("cancel")}</Button>
          <Button type="submit" look="main" disabled={!request} isBusy={add.isPending}>
            {t("add")}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

interface FieldProps {
  field: ConfigField | PayloadField;
  draft: Draft;
  onWrite: (field: ConfigField | PayloadField, text: string) => void;
}

function OneField({ field, draft, onWrite }: FieldProps) {
  const { t } = useTranslation("triggers");
  const shared = {
    label: t(`field_${field}`),
    hint: t(`hint_${field}`) || undefined,
    value: draft.values[field] ?? "",
  };
  if (LONG.includes(field)) {
    return <TextArea {...shared} onChange={(event) => onWrite(field, event.target.value)} />;
  }
  const type = field === "at" ? "datetime-local" : "text";
  return (
    <Input
      {...shared}
      type={type}
      spellCheck={false}
      onChange={(event) => onWrite(field, event.target.value)}
    />
  );
}

/** When it would fire, in the reader's zone; or what is wrong with it. */
function Plan({ agent, draft }: { agent: string; draft: Draft }) {
  const { t } = useTranslation("triggers");
  const { data, error } = useTriggerPlan(agent, useDeferredValue(planOf(draft)));
  let said: ReactNode = t("planNothing");
  if (error) said = <span className={styles.wrong}>{error.message}</span>;
  else if (data?.times.length) {
    said = (
      <ol className={styles.times}>
        {data.times.map((at) => (
          <li key={at}>
            <Time at={at} form="full" />
          </li>
        ))}
      </ol>
    );
  } else if (data) said = t("planUnknown");
  return (
    <div className={styles.plan} role="status">
      <Icon name="trigger" />
      <div>
        <strong>{t("plan")}</strong>
        <div>{said}</div>
      </div>
    </div>
  );
}
