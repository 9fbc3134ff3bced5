// The tree of files as rows, the kinds of files, and tables in texts. Pure.
import type { FileEntry, Folder } from "~/api/files";

export interface TreeRow {
  entry: FileEntry;
  level: number;
  isOpen: boolean;
}

/** Return the rows of the folders that are open, from `path` on; one that is not there has none. */
export function rowsOf(
  folders: ReadonlyMap<string, Folder>,
  open: ReadonlySet<string>,
  path = "",
  level = 0,
): TreeRow[] {
  return (folders.get(path)?.entries ?? []).flatMap((entry) => {
    const isOpen = entry.kind === "folder" && open.has(entry.path);
    const below = isOpen ? rowsOf(folders, open, entry.path, level + 1) : [];
    return [{ entry, level, isOpen }, ...below];
  });
}

/** Return the folders that a path lies in, the outermost first. */
export function foldersAbove(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, place) => parts.slice(0, place + 1).join("/"));
}

const MOST_FOUND = 200;

/** Return the files whose path holds all words, those with one in their name first. */
export function found(entries: readonly FileEntry[], words: string): FileEntry[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (text: string) => wanted.every((word) => text.toLowerCase().includes(word));
  const files = entries.filter((entry) => entry.kind === "file" && fits(entry.path));
  return [...files.filter((one) => fits(one.name)), ...files.filter((one) => !fits(one.name))].slice(0, MOST_FOUND);
}

export type Kind = "markdown" | "table" | "image" | "pdf" | "text" | "binary";

/** Return how a file is shown; `isText`: its content came as text. */
export function kindOf(mediaType: string, name: string, isText: boolean): Kind {
  if (mediaType.startsWith("image/")) return "image";
  if (mediaType === "application/pdf") return "pdf";
  if (!isText) return "binary";
  if (mediaType.startsWith("text/markdown")) return "markdown";
  return /\.(csv|tsv)$/i.test(name) ? "table" : "text";
}

const LANGUAGES: Record<string, string> = { yml: "yaml", jsonl: "json", htm: "xml", html: "xml", svg: "xml", toml: "ini" };

/** Return the language of a file by the end of its name. */
export function languageOf(name: string): string {
  const end = name.includes(".") ? name.slice(name.lastIndexOf(".") + 1).toLowerCase() : "";
  return LANGUAGES[end] ?? end;
}

/** Return the rows of comma or tab separated values; quotes as RFC 4180 has them. */
export function parseTable(text: string, separator: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let isQuoted = false;
  const endCell = () => {
    row.push(cell);
    cell = "";
  };
  const endRow = () => {
    endCell();
    rows.push(row);
    row = [];
  };
  for (let at = 0; at < text.length; at++) {
    const sign = text.charAt(at);
    if (isQuoted) {
      if (sign !== '"') cell += sign;
      else if (text[at + 1] === '"') cell += text.charAt(at++);
      else isQuoted = false;
    } else if (sign === '"' && cell === "") isQuoted = true;
    else if (sign === separator) endCell();
    else if (sign === "\n") endRow();
    else if (sign !== "\r") cell += sign;
  }
  if (cell !== "" || row.length) endRow();
  return rows;
}
