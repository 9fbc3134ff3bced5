// Notifications of the browser: only when the person has asked for them, and looks elsewhere.
import { useSyncExternalStore } from "react";

export type Notifying = "on" | "off" | "denied" | "impossible";

const KEPT_AS = "agiraph.notify";
const listeners = new Set<() => void>();
const tell = () => listeners.forEach((listener) => listener());

export function notifying(): Notifying {
  if (!("Notification" in window)) return "impossible";
  if (Notification.permission === "denied") return "denied";
  const isWanted = localStorage.getItem(KEPT_AS) === "on";
  return isWanted && Notification.permission === "granted" ? "on" : "off";
}

export const useNotifications = (): Notifying =>
  useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, notifying);

/** Ask the browser for leave, or turn notifications off again. */
export async function askToNotify(isWanted: boolean): Promise<void> {
  localStorage.setItem(KEPT_AS, isWanted ? "on" : "off");
  if (isWanted && notifying() !== "impossible") await Notification.requestPermission();
  tell();
}

export interface Notice {
  title: string;
  body: string;
  /** One of the same tag takes the place of another. */
  tag: string;
  onClick?: () => void;
}

/** Show a notice if the person wants them and does not look at this page. */
export function notify({ title, body, tag, onClick }: Notice): void {
  if (notifying() !== "on" || document.visibilityState === "visible") return;
  const shown = new Notification(title, { body, tag });
  shown.addEventListener("click", () => {
    window.focus();
    shown.close();
    onClick?.();
  });
}
