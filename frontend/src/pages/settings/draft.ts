// What a person has changed of a settings file and not saved yet. Pure.
import type { SettingChange, SettingsContent, SettingsEdit, SettingsProblem } from "~/api/system";

export type Key = readonly (string | number)[];

export interface Draft {
  /** The text as it was written by hand; null: that of the file. */
  text: string | null;
  /** What was changed in the form since, in its order. */
  changes: readonly SettingChange[];
}

export const NO_DRAFT: Draft = { text: null, changes: [] };

export const isChanged = (draft: Draft): boolean => draft.text !== null || draft.changes.length > 0;

const same = (one: Key, other: Key) => JSON.stringify(one) === JSON.stringify(other);

const isBelow = (key: Key, above: Key) => key.length >= above.length && same(key.slice(0, above.length), above);

/** Return the draft with one more change; one of the same place, or of what is in it, is replaced. */
export function withChange(draft: Draft, change: SettingChange): Draft {
  const others = draft.changes.filter((one) => !isBelow(one.key, change.key));
  return { ...draft, changes: [...others, change] };
}

export const withoutChange = (draft: Draft, key: Key): Draft => ({
  ...draft,
  changes: draft.changes.filter((one) => !same(one.key, key)),
});

/** A text that was written by hand holds all that the form had changed before. */
export const withText = (text: string, ofFile: string): Draft => ({
  text: text === ofFile ? null : text,
  changes: [],
});

export const editOf = (draft: Draft): SettingsEdit | null =>
  isChanged(draft)
    ? { ...(draft.text === null ? {} : { text: draft.text }), changes: [...draft.changes] }
    : null;

/** Return what is at a place of plain values, undefined if nothing is. */
export function at(values: unknown, key: Key): unknown {
  let found: unknown = values;
  for (const part of key) {
    if (typeof found !== "object" || found === null) return undefined;
    found = (found as Record<string | number, unknown>)[part];
  }
  return found;
}

type Table = Record<string | number, unknown>;

/** Return plain values with another one at a place, undefined for none; what is above comes with it. */
export function changed(values: unknown, key: Key, value: unknown): unknown {
  const [first, ...rest] = key;
  if (first === undefined) return value;
  const isTable = typeof values === "object" && values !== null;
  const inner = changed(isTable ? (values as Table)[first] : undefined, rest, value);
  if (typeof first === "number") {
    const list = Array.isArray(values) ? values : [];
    return inner === undefined ? list.toSpliced(first, 1) : Object.assign([...list], { [first]: inner });
  }
  const next: Table = isTable ? { ...values } : {};
  if (inner === undefined) delete next[first];
  else next[first] = inner;
  return next;
}

/** Return what a place will say: what the file says, with the changes of it and of what is in it. */
export const valueAt = (own: unknown, draft: Draft, key: Key): unknown =>
  at(
    draft.changes.reduce((values, one) => changed(values, one.key, one.remove ? undefined : one.value), own),
    key,
  );

/** What every form of a file is given. */
export interface FormProps {
  content: SettingsContent;
  /** What the file says, with what was changed. */
  own: Record<string, unknown>;
  draft: Draft;
  problems: readonly SettingsProblem[];
  onDraft: (draft: Draft) => void;
}

/** Return what is wrong at a place, or in it. */
export const problemAt = (problems: readonly SettingsProblem[], key: Key): string | undefined =>
  problems.find((one) => isBelow(one.key, key))?.detail;
