// The notes of a memory by their folders, and what a new one may be called. Pure.
import type { Schemas } from "~/api/client";

export type Note = Schemas["MemoryEntryView"];

export interface NoteFolder {
  /** "" for those in no folder. */
  name: string;
  notes: readonly Note[];
}

const DAILY = /^\d{4}-\d{2}-\d{2}\.md$/;

/** Return the notes by folder: those in none first, then daily logs, the newest first. */
export function foldersOf(notes: readonly Note[], logs: string): NoteFolder[] {
  const folders = new Map<string, Note[]>([["", []]]);
  const daily: Note[] = [];
  for (const note of notes) {
    const name = note.path.slice(0, Math.max(0, note.path.lastIndexOf("/")));
    if (DAILY.test(note.path)) daily.push(note);
    else folders.set(name, [...(folders.get(name) ?? []), note]);
  }
  const named = Array.from(folders, ([name, of]) => ({ name, notes: of }));
  return [...named, { name: logs, notes: daily.toReversed() }].filter((one) => one.notes.length);
}

/** Return the name without its folder and ending. */
export const nameOf = (path: string): string =>
  path.slice(path.lastIndexOf("/") + 1).replace(/\.md$/, "");

/** Whether a note may be called so. */
export const isNotePath = (path: string): boolean =>
  /^[^/.\s][^/]*(\/[^/.\s][^/]*){0,4}$/.test(path) && path.endsWith(".md");
