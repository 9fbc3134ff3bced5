// Which question the tray above the pages shows: any part of the page may ask for one.
import { useSyncExternalStore } from "react";

export interface Tray {
  isOpen: boolean;
  /** The question that is looked at, '' for the most pressing. */
  question: string;
  /** The question that the person has moved to: only its card may be answered by keys. */
  movedTo: string;
}

let tray: Tray = { isOpen: false, question: "", movedTo: "" };
const listeners = new Set<() => void>();

export function showTray(next: Partial<Tray>): void {
  tray = { ...tray, ...next };
  listeners.forEach((listener) => listener());
}

export const openQuestion = (question: string): void => showTray({ isOpen: true, question, movedTo: question });

export const useTray = (): Tray =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => tray,
  );
