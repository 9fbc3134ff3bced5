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

export function Input({
  label,
  hint,
  problem,
  isLabelUnseen,
  className,
  ...rest
}: About & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <Field label={label} hint={hint} problem={problem} isLabelUnseen={isLabelUnseen ?? false}>
      {(control) => <input className={classes(styles.input, className)} {...rest} {...control} />}
    </Field>
  );
}

export function TextArea({
  label,
  hint,
  problem,
  isLabelUnseen,
  className,
  ...rest
}: About & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <Field label={label} hint={hint} problem={problem} isLabelUnseen={isLabelUnseen ?? false}>
      {(control) => (
        <textarea rows={3} className={classes(styles.input, styles.area, className)} {...rest} {...control} />
      )}
    </Field>
  );
}

export function Select({
  label,
  hint,
  problem,
  isLabelUnseen,
  className,
  children,
  ...rest
}: About & SelectHTMLAttributes<HTMLSelectElement>) {
  return (
    <Field label={label} hint={hint} problem={problem} isLabelUnseen={isLabelUnseen ?? false}>
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
