// Which question the tray above the pages shows: any part of the page may ask for one.
import { useSyncExternalStore } from "react";

export interface Tray {
  isOpen: boolean;
  /** The question that is looked at, '' for the most pressing. */
  question: string;
}

let tray: Tray = { isOpen: false, question: "" };
const listeners = new Set<() => void>();

export function showTray(next: Partial<Tray>): void {
  tray = { ...tray, ...next };
  listeners.forEach((listener) => listener());
}

export const openQuestion = (question: string): void => showTray({ isOpen: true, question });

export const useTray = (): Tray =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => tray,
  );
