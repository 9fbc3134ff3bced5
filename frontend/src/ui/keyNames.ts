// Which key presses a name of keys stands for. Pure.

export interface KeyName {
  /** The key that must come before, '' if none. */
  first: string;
  key: string;
  isMod: boolean;
  isShift: boolean;
}

export interface Press {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

/** Read `?`, `Mod+k`, `Mod+Shift+Enter` or `g b`. */
export function parseKey(name: string): KeyName {
  const [first, second] = name.split(" ");
  const last = second ?? first ?? "";
  const parts = last.length > 1 ? last.split("+") : [last];
  return {
    first: second === undefined ? "" : (first ?? ""),
    key: parts.at(-1) ?? "",
    isMod: parts.includes("Mod"),
    isShift: parts.includes("Shift"),
  };
}

/** Whether a press is the one that a name stands for, after the key `before`. */
export function matches(name: KeyName, press: Press, before: string): boolean {
  if (press.altKey || name.isMod !== (press.ctrlKey || press.metaKey)) return false;
  // A sign such as ? needs Shift on some keyboards and not on others.
  const isLetter = /^[a-z]$|^[A-Z][a-z]+/.test(name.key);
  if (isLetter && name.isShift !== press.shiftKey) return false;
  if (name.first !== "" && name.first !== before) return false;
  return press.key === name.key || (name.isShift && press.key.toLowerCase() === name.key);
}

/** Whether a dialog is open: the keys are for it, wherever the focus is. */
export const isInDialog = (): boolean =>
  document.querySelector(':is([role="dialog"], [role="alertdialog"])[data-state="open"]') !== null;

/** Whether keys that are pressed there are text. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement) return true;
  if (target instanceof HTMLSelectElement) return true;
  return (
    target instanceof HTMLInputElement && !["checkbox", "radio", "button"].includes(target.type)
  );
}
