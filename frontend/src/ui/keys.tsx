// The keys: each is registered by what uses it, and `?` lists those that count at the moment.
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";

import { Dialog } from "./overlays";
import styles from "./keys.module.css";
import { isInDialog, isTyping, matches, parseKey } from "./keyNames";

export interface KeyUse {
  /** `?`, `Escape`, `Mod+k`, or two that follow each other: `g b`. */
  keys: string;
  label: string;
  run: (event: KeyboardEvent) => void;
  /** Also while one types into a field. */
  isForTyping?: boolean;
}

let uses: readonly KeyUse[] = [];
const listeners = new Set<() => void>();
const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};
const put = (next: readonly KeyUse[]) => {
  uses = next;
  listeners.forEach((listener) => listener());
};

/** Have a key do something for as long as this component is shown. */
export function useKey(
  keys: string,
  label: string,
  run: (event: KeyboardEvent) => void,
  { isForTyping = false, isOn = true }: { isForTyping?: boolean; isOn?: boolean } = {},
): void {
  const latest = useRef(run);
  useEffect(() => {
    latest.current = run;
  });
  useEffect(() => {
    if (!isOn) return;
    const use: KeyUse = { keys, label, run: (event) => latest.current(event), isForTyping };
    put([...uses, use]);
    return () => put(uses.filter((one) => one !== use));
  }, [keys, label, isForTyping, isOn]);
}

const BETWEEN_MILLISECONDS = 900;

/** Listens for all keys, and shows them on `?`. */
export function Keys() {
  const { t } = useTranslation("app");
  const [isOpen, setOpen] = useState(false);
  const all = useSyncExternalStore(subscribe, () => uses);
  useKey("?", t("keys"), () => setOpen(true));
  useEffect(() => {
    let first = { key: "", at: 0 };
    const take = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      const before = Date.now() - first.at < BETWEEN_MILLISECONDS ? first.key : "";
      const typing = isInDialog() || isTyping(event.target);
      // The latest registered comes first: an open card's before the page's.
      const use = uses.findLast(
        (one) => (one.isForTyping || !typing) && matches(parseKey(one.keys), event, before),
      );
      first = { key: event.key, at: Date.now() };
      if (!use) return;
      event.preventDefault();
      use.run(event);
    };
    window.addEventListener("keydown", take);
    return () => window.removeEventListener("keydown", take);
  }, []);
  return (
    <Dialog isOpen={isOpen} onClose={() => setOpen(false)} title={t("keys")} about={t("keysAbout")}>
      <dl className={styles.keys}>
        {all.map(({ keys, label }) => (
          <div key={`${keys} ${label}`}>
            <dt>{label}</dt>
            <dd>
              <Keyboard keys={keys} />
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

/** Keys as they are printed on a keyboard. */
export function Keyboard({ keys }: { keys: string }) {
  return (
    <span className={styles.shown}>
      {keys.split(/[ +]/).map((key) => (
        <kbd key={key}>{key === "Mod" ? (isMac() ? "⌘" : "Ctrl") : key}</kbd>
      ))}
    </span>
  );
}

const isMac = () => /Mac|iPhone|iPad/.test(navigator.userAgent);
