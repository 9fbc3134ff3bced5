// The title of the window: how many messages are unread, and what is shown.
import { useEffect } from "react";

let unread = 0;
let shown = "";

/** Return a window's title. */
export function titleOf(count: number, name: string): string {
  return `${count ? `(${count}) ` : ""}${name ? `${name} · ` : ""}Agiraph`;
}

const apply = () => {
  document.title = titleOf(unread, shown);
};

/** Name what is shown in the window's title; '' leaves it to another. */
export function useTitle(name: string): void {
  useEffect(() => {
    if (!name) return;
    shown = name;
    apply();
  }, [name]);
}

export function setUnread(count: number): void {
  unread = count;
  apply();
}
