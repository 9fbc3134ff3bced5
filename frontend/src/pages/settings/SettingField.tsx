// One setting: a field of the kind that its schema asks for, and the way back to the default.
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import type { SettingChange } from "~/api/system";
import { Check, classes, Icon, IconButton, Input, Select, TextArea } from "~/ui";
import { type FormProps, type Key, problemAt, valueAt, withChange } from "./draft";
import { brief, type FieldKind, kindOf, read, schemaAt, written } from "./schema";
import styles from "./settings.module.css";

interface SettingFieldProps extends FormProps {
  path: Key;
  about?: ReactNode;
  /** What holds where the file says nothing. */
  fallback: unknown;
  /** The shipped row that this is a field of, where one's own replaces all of it. */
  row?: Record<string, unknown> | undefined;
}

export function SettingField(props: SettingFieldProps) {
  const { t } = useTranslation("settings");
  const { path, content, own, draft, problems, onDraft, fallback } = props;
  const kind = kindOf(schemaAt(content.shape, path), content.shape);
  const value = valueAt(own, draft, path);
  const isSet = value !== undefined;
  const isChanged = draft.changes.some((one) => JSON.stringify(one.key) === JSON.stringify(path));
  const name = String(path.at(-1));
  const change = (next: unknown) => {
    const above = path.slice(0, -1);
    const isFirst = props.row && next !== undefined && valueAt(own, draft, above) === undefined;
    const key = isFirst ? above : path;
    const said = isFirst ? { ...props.row, [name]: next } : next;
    onDraft(
      withChange(draft, {
        key: [...key],
        value: (said === undefined ? null : said) as SettingChange["value"],
        remove: said === undefined,
      }),
    );
  };
  return (
    <div className={classes(styles.setting, isSet && styles.isSet, isChanged && styles.isChanged)}>
      <div className={styles.control}>
        <Control
          name={name}
          label={path.join(".")}
          kind={kind}
          value={isSet ? value : fallback}
          isSet={isSet}
          hint={props.about}
          problem={problemAt(problems, path)}
          fallback={fallback}
          onChange={change}
        />
      </div>
      {isSet && (
        <IconButton
          size="s"
          label={t("toDefault", { name: path.join(".") })}
          icon={<Icon name="retry" />}
          onClick={() => change(undefined)}
        />
      )}
    </div>
  );
}

interface ControlProps {
  name: string;
  label: string;
  kind: FieldKind;
  value: unknown;
  isSet: boolean;
  hint: ReactNode;
  problem: string | undefined;
  fallback: unknown;
  onChange: (value: unknown) => void;
}

function Control({ name, label, kind, value, isSet, hint, problem, fallback, onChange }: ControlProps) {
  const { t } = useTranslation("settings");
  const shared = { label: name, hint, problem, title: label };
  switch (kind.kind) {
    case "toggle":
      return (
        <div className={styles.toggle}>
          <Check
            label={<span className={styles.name}>{name}</span>}
            checked={value === true}
            onChange={(event) => onChange(event.target.checked)}
          />
          {problem ? <p className={styles.problem}>{problem}</p> : <p className={styles.hint}>{hint}</p>}
        </div>
      );
    case "choice":
      return (
        <Select {...shared} value={String(value ?? "")} onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value)}>
          {(value == null || kind.isNullable) && <option value="">{t("none")}</option>}
          {kind.choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </Select>
      );
    case "list":
      return (
        <TextArea
          {...shared}
          rows={Math.min(6, Math.max(1, written(value, kind).split("\n").length))}
          spellCheck={false}
          placeholder={t("onePerLine")}
          value={written(value, kind)}
          onChange={(event) => onChange(read(event.target.value, kind))}
        />
      );
    case "number":
    case "text":
      return (
        <Input
          {...shared}
          spellCheck={false}
          {...(kind.kind === "number" ? { inputMode: kind.isWhole ? "numeric" : "decimal" } : {})}
          placeholder={isSet ? brief(value) : brief(fallback)}
          value={isSet ? written(value, kind) : ""}
          onChange={(event) => onChange(read(event.target.value, kind))}
        />
      );
    default:
      return (
        <div>
          <p className={styles.name}>{name}</p>
          <code className={styles.other}>{brief(value)}</code>
          <p className={styles.hint}>{hint}</p>
          <p className={styles.hint}>{t("inText")}</p>
          {problem && <p className={styles.problem}>{problem}</p>}
        </div>
      );
  }
}

