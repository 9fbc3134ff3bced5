// A field of the kind that a schema asks for: a tick, a choice, or words.
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";

import { Check, Input, Select, TextArea } from "~/ui";
import { brief, type FieldKind, read, written } from "./schema";
import styles from "./settings.module.css";

export interface ControlProps {
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

export function Control({ name, label, kind, value, isSet, hint, problem, fallback, onChange }: ControlProps) {
  const { t } = useTranslation("settings");
  const shared = { label: name, hint, problem, title: label };
  const isFilled = isSet || kind.kind === "list";
  const typed = {
    ...shared,
    kind,
    value: isFilled ? value : undefined,
    placeholder: brief(isSet ? value : fallback),
    onChange,
  };
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
        <Typed {...typed} placeholder={t("onePerLine")} isLong />
      );
    case "number":
      return <Typed {...typed} inputMode={kind.isWhole ? "numeric" : "decimal"} />;
    default:
      return <Typed {...typed} isLong={written(value, kind).includes("\n")} />;
  }
}

interface TypedProps {
  label: string;
  title: string;
  hint: ReactNode;
  problem: string | undefined;
  kind: FieldKind;
  value: unknown;
  isLong?: boolean;
  placeholder?: string;
  inputMode?: "numeric" | "decimal";
  onChange: (value: unknown) => void;
}

/** A field for words; what is being typed (`0.`, an empty line) stays as it is. */
function Typed({ kind, value, isLong = false, onChange, ...rest }: TypedProps) {
  const [typed, setTyped] = useState("");
  const isTyped = JSON.stringify(read(typed, kind)) === JSON.stringify(value);
  const text = value === undefined ? "" : isTyped ? typed : written(value, kind);
  const shared = {
    ...rest,
    spellCheck: false,
    value: text,
    onChange: (event: { target: { value: string } }) => {
      setTyped(event.target.value);
      onChange(read(event.target.value, kind));
    },
  };
  return isLong ? <TextArea {...shared} rows={Math.min(8, text.split("\n").length)} /> : <Input {...shared} />;
}
