// Toasts: what has to be said now, wherever one is. `toast({...})` shows one.
import { Toast as R } from "radix-ui";
import { type ReactNode, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";

import { IconButton } from "./Button";
import { classes } from "./classes";
import { Icon } from "./Icon";
import styles from "./toasts.module.css";

export interface ToastOptions {
  title: ReactNode;
  about?: ReactNode;
  tone?: "plain" | "good" | "bad" | "ask";
  /** Buttons. */
  actions?: ReactNode;
  /** One of the same key takes the place of another. */
  key?: string;
  /** Infinity: until it is closed. */
  seconds?: number;
}

type Shown = ToastOptions & { key: string };

let shown: readonly Shown[] = [];
let count = 0;
const listeners = new Set<() => void>();
const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

function put(next: readonly Shown[]): void {
  shown = next;
  listeners.forEach((listener) => listener());
}

export function toast(options: ToastOptions): string {
  const key = options.key ?? `toast ${++count}`;
  put([...shown.filter((one) => one.key !== key), { ...options, key }]);
  return key;
}

export const closeToast = (key: string): void => put(shown.filter((one) => one.key !== key));

export function Toasts() {
  const { t } = useTranslation("common");
  const all = useSyncExternalStore(subscribe, () => shown);
  return (
    <R.Provider swipeDirection="right" label={t("notification")}>
      {all.map(({ key, title, about, tone = "plain", actions, seconds = 6 }) => (
        <R.Root
          key={key}
          className={classes(styles.toast, styles[tone])}
          duration={seconds * 1000}
          type={tone === "plain" || tone === "good" ? "background" : "foreground"}
          onOpenChange={(open) => !open && closeToast(key)}
        >
          <div className={styles.text}>
            <R.Title className={styles.title}>{title}</R.Title>
            {about && <R.Description className={styles.about}>{about}</R.Description>}
            {actions && <div className={styles.actions}>{actions}</div>}
          </div>
          <R.Close asChild>
            <IconButton label={t("close")} size="s" icon={<Icon name="close" />} />
          </R.Close>
        </R.Root>
      ))}
      <R.Viewport className={styles.place} />
    </R.Provider>
  );
}
