// Buttons, with a word or an icon alone; while what they began goes on they are busy.
import { type ButtonHTMLAttributes, forwardRef, type ReactNode } from "react";

import styles from "./Button.module.css";
import { classes } from "./classes";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: "plain" | "main" | "bare" | "danger";
  size?: "s" | "m";
  icon?: ReactNode;
  isBusy?: boolean;
}

export const Button = forwardRef<HTMLButtonElement, ButtonProps>(function Button(
  { look = "plain", size = "m", icon, isBusy = false, className, children, disabled, ...rest },
  ref,
) {
  return (
    <button
      type="button"
      ref={ref}
      disabled={disabled || isBusy}
      aria-busy={isBusy || undefined}
      className={classes(
        styles.button,
        styles[look],
        styles[size],
        !children && styles.square,
        className,
      )}
      {...rest}
    >
      {isBusy ? <span className={styles.busy} aria-hidden /> : icon}
      {children}
    </button>
  );
});

/** A button that shows only an icon; `label` is what it is called. */
export const IconButton = forwardRef<HTMLButtonElement, ButtonProps & { label: string }>(
  function IconButton({ label, look = "bare", ...rest }, ref) {
    return <Button ref={ref} look={look} aria-label={label} title={label} {...rest} />;
  },
);
