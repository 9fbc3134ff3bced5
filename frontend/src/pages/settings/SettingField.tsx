// One setting: a field of the kind that its schema asks for, or fields for all that it holds, and the
// way back to the default.
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";

import type { SettingChange } from "~/api/system";
import { Button, classes, Icon, IconButton, Input } from "~/ui";
import { Control } from "./Control";
import { at, changed, type FormProps, type Key, problemAt, valueAt, withChange } from "./draft";
import { kindOf, propertiesOf, schemaAt } from "./schema";
import styles from "./settings.module.css";

export interface SettingFieldProps extends FormProps {
  path: Key;
  about?: ReactNode;
  /** What holds where the file says nothing. */
  fallback: unknown;
  /** What this is a part of, where the file's own replaces all of it. */
  whole?: { key: Key; value: unknown } | undefined;
  /** It is a row of a table, and may be taken out. */
  isRow?: boolean;
}

export function SettingField(props: SettingFieldProps) {
  const { path, content, own, draft, problems, onDraft, fallback, whole, isRow = false } = props;
  const kind = kindOf(schemaAt(content.shape, path), content.shape);
  const value = valueAt(own, draft, path);
  const isSet = value !== undefined;
  const isChanged = draft.changes.some((one) => JSON.stringify(one.key) === JSON.stringify(path));
  const change = (next: unknown) => {
    const isFirst = whole !== undefined && valueAt(own, draft, whole.key) === undefined;
    const key = isFirst ? whole.key : path;
    const said = isFirst ? changed(whole.value, path.slice(whole.key.length), next) : next;
    onDraft(
      withChange(draft, {
        key: [...key],
        value: (said === undefined ? null : said) as SettingChange["value"],
        remove: said === undefined,
      }),
    );
  };
  const isNested = kind.kind === "table" || kind.kind === "group";
  return (
    <div
      className={classes(
        styles.setting,
        isNested && styles.nested,
        isSet && !isRow && styles.isSet,
        isChanged && styles.isChanged,
      )}
    >
      <div className={styles.control}>
        {kind.kind === "table" && <Table {...props} value={value} />}
        {kind.kind === "group" && <Group {...props} />}
        {!isNested && (
          <Control
            name={String(path.at(-1))}
            label={path.join(".")}
            kind={kind}
            value={isSet ? value : fallback}
            isSet={isSet}
            hint={props.about}
            problem={problemAt(problems, path)}
            fallback={fallback}
            onChange={change}
          />
        )}
      </div>
      <Back {...props} isSet={isSet} onChange={change} />
    </div>
  );
}

interface BackProps extends SettingFieldProps {
  isSet: boolean;
  onChange: (value: unknown) => void;
}

function Back({ path, isRow, isSet, whole, onChange }: BackProps) {
  const { t } = useTranslation("settings");
  const name = path.join(".");
  if (isRow ? !isSet && !whole : !isSet) return null;
  return (
    <IconButton
      size="s"
      label={isRow ? t("takeOut", { name }) : t("toDefault", { name })}
      icon={<Icon name={isRow ? "trash" : "retry"} />}
      onClick={() => onChange(undefined)}
    />
  );
}

// --- what a setting holds that holds others ---

interface FrameProps {
  path: SettingFieldProps["path"];
  about: ReactNode;
  problem: string | undefined;
  children: ReactNode;
}

function Frame({ path, about, problem, children }: FrameProps) {
  return (
    <fieldset className={styles.group}>
      <legend title={path.join(".")}>{path.at(-1)}</legend>
      {about && <p className={styles.hint}>{about}</p>}
      {problem && <p className={styles.problem}>{problem}</p>}
      {children}
    </fieldset>
  );
}

/** The rows of a table: those of the file, and the shipped ones. */
export function Table({ value, about, ...props }: SettingFieldProps & { value: unknown }) {
  const { t } = useTranslation("settings");
  const [fresh, setFresh] = useState("");
  const { path, content, fallback, problems } = props;
  const isMerged = schemaAt(content.shape, path)["merged"] === true;
  const whole = isMerged ? undefined : (props.whole ?? { key: path, value: fallback ?? {} });
  const own = value === undefined ? [] : namesIn(value);
  const names = value === undefined || isMerged ? [...new Set([...own, ...namesIn(fallback)])] : own;
  const [added, setAdded] = useState<readonly string[]>([]);
  const open = added.filter((name) => !names.includes(name));
  return (
    <Frame path={path} about={about} problem={names.length ? undefined : problemAt(problems, path)}>
      {[...names, ...open].map((name) => (
        <SettingField
          key={name}
          {...props}
          about={undefined}
          path={[...path, name]}
          fallback={at(fallback, [name])}
          whole={whole}
          isRow
        />
      ))}
      <form
        className={styles.add}
        onSubmit={(event) => {
          event.preventDefault();
          event.stopPropagation();
          setAdded([...added, fresh.trim()]);
          setFresh("");
        }}
      >
        <Input
          label={t("newRow", { name: path.join(".") })}
          isLabelUnseen
          placeholder={t("newName")}
          value={fresh}
          onChange={(event) => setFresh(event.target.value)}
        />
        <Button type="submit" size="s" icon={<Icon name="plus" />} disabled={!fresh.trim()}>
          {t("add")}
        </Button>
      </form>
    </Frame>
  );
}

const namesIn = (value: unknown): string[] =>
  typeof value === "object" && value !== null ? Object.keys(value) : [];

/** The fields of a record. */
export function Group({ about, ...props }: SettingFieldProps) {
  const { path, content, fallback, problems } = props;
  const fields = propertiesOf(schemaAt(content.shape, path));
  const problem = problems.find((one) => JSON.stringify(one.key) === JSON.stringify(path))?.detail;
  return (
    <Frame path={path} about={about} problem={problem}>
      <div className={styles.fields}>
        {fields.map(([field, shape]) => (
          <SettingField
            key={field}
            {...props}
            path={[...path, field]}
            fallback={at(fallback, [field]) ?? shape["default"]}
            isRow={false}
          />
        ))}
      </div>
    </Frame>
  );
}
