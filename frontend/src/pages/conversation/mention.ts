// Names in what one writes: whom a text is for, and what a name that is begun can become. Pure.
import { EVERYONE } from "./items";

export interface Mention {
  /** Where its @ is. */
  start: number;
  query: string;
}

/** Return the name that is being written before the caret, if one is. */
export function mentionAt(text: string, caret: number): Mention | null {
  const found = /(^|\s)@([\w*.-]*)$/.exec(text.slice(0, caret));
  if (!found) return null;
  const query = found[2] ?? "";
  return { start: caret - query.length - 1, query };
}

/** Return the names that begin so, those that only hold it after them. */
export function completionsOf(query: string, names: readonly string[]): string[] {
  const wanted = query.toLocaleLowerCase();
  const rank = (name: string) => name.toLocaleLowerCase().indexOf(wanted);
  return [...names, EVERYONE]
    .filter((name) => rank(name) >= 0)
    .toSorted((one, other) => Math.sign(rank(one)) - Math.sign(rank(other)));
}

/** Return a text with a name put in the place of one that was begun, and the caret after it. */
export function completed(text: string, { start, query }: Mention, name: string): [string, number] {
  const before = `${text.slice(0, start)}@${name} `;
  return [before + text.slice(start + query.length + 1).replace(/^ /, ""), before.length];
}

export interface Addressed {
  to: string;
  text: string;
}

/** Read `@name text` or `@* text`; any other text is for `here`. */
export function addressed(text: string, names: readonly string[], here: string): Addressed {
  const found = /^\s*@(\S+)\s+([\s\S]*)$/.exec(text);
  const named = found?.[1] ?? "";
  const rest = found?.[2]?.trim() ?? "";
  const name = [...names, EVERYONE].find((one) => one.toLowerCase() === named.toLowerCase());
  return name !== undefined && rest ? { to: name, text: rest } : { to: here, text: text.trim() };
}

/** Return whom a text is for, also while nothing stands after the name. */
export const receiverOf = (text: string, names: readonly string[], here: string): string =>
  addressed(`${text} .`, names, here).to;
