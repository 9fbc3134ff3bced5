// Fields of forms: a label, the field, what it means or what is wrong with it.
import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from "react";

import { classes } from "./classes";
import styles from "./fields.module.css";

interface About {
  label: ReactNode;
  hint?: ReactNode;
  problem?: ReactNode;
  /** The label is there for screen readers alone. */
  isLabelUnseen?: boolean;
}

interface Control {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean | undefined;
}

/** A field of any kind: `children` makes it of the attributes that tie it to its label. */
export function Field({
  label,
  hint,
  problem,
  isLabelUnseen = false,
  children,
}: About & { children: (control: Control) => ReactNode }) {
  const id = useId();
  const said = problem ?? hint;
  const described = said ? `${id}-said` : undefined;
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={isLabelUnseen ? "unseen" : styles.label}>
        {label}
      </label>
      {children({ id, "aria-describedby": described, "aria-invalid": problem ? true : undefined })}
      {said && (
        <p id={described} className={classes(styles.hint, Boolean(problem) && styles.problem)}>
          {said}
        </p>
      )}
    </div>
  );
}

/** What is said about a control, and the control's own attributes. */
function parted<T extends About>({ label, hint, problem, isLabelUnseen = false, ...rest }: T) {
  return [{ label, hint, problem, isLabelUnseen }, rest] as const;
}

export function Input(props: About & InputHTMLAttributes<HTMLInputElement>) {
  const [about, { className, ...rest }] = parted(props);
  return (
    <Field {...about}>
      {(control) => <input className={classes(styles.input, className)} {...rest} {...control} />}
    </Field>
  );
}

/** A field for words to look for; its label stands in it. */
export function SearchInput({
  label,
  value,
  onText,
}: {
  label: string;
  value: string;
  onText: (text: string) => void;
}) {
  return (
    <Input
      type="search"
      label={label}
      isLabelUnseen
      placeholder={label}
      value={value}
      onChange={(event) => onText(event.target.value)}
    />
  );
}

export function TextArea(props: About & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  const [about, { className, ...rest }] = parted(props);
  return (
    <Field {...about}>
      {(control) => (
        <textarea rows={3} className={classes(styles.input, styles.area, className)} {...rest} {...control} />
      )}
    </Field>
  );
}

export function Select(props: About & SelectHTMLAttributes<HTMLSelectElement>) {
  const [about, { className, children, ...rest }] = parted(props);
  return (
    <Field {...about}>
      {(control) => (
        <select className={classes(styles.input, styles.select, className)} {...rest} {...control}>
          {children}
        </select>
      )}
    </Field>
  );
}

export function Check({
  label,
  ...rest
}: { label: ReactNode } & Omit<InputHTMLAttributes<HTMLInputElement>, "type">) {
  return (
    <label className={styles.check}>
      <input type="checkbox" {...rest} />
      <span>{label}</span>
    </label>
  );
}
