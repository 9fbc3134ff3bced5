// What a tool call is about, in one line, and what it was given, to be read. Pure.
import { oneLine } from "~/ui/format";
import { inWords, type ToolItem } from "./items";

const SUBJECTS = ["command", "path", "question", "url", "query", "name", "ref_name", "nodes", "to"];
const LONGEST = 160;
const EXIT = /\n?\[exit code -?\d+\]\s*$/;

/** Return one line of what a call is about: its command, its path, its arguments. */
export function subjectOf({ input, malformed }: Pick<ToolItem, "input" | "malformed">): string {
  if (malformed) return cutLine(malformed);
  const main = SUBJECTS.map((name) => input[name]).find((value) => value != null && value !== "");
  if (main !== undefined) return cutLine(Array.isArray(main) ? main.map(inWords).join(", ") : inWords(main));
  const parts = Object.entries(input).map(([name, value]) => `${name}=${cutLine(inWords(value), 60)}`);
  return cutLine(parts.join(" "));
}

function cutLine(text: string, longest = LONGEST): string {
  const line = oneLine(text);
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}

export interface Given {
  name: string;
  text: string;
  /** The language in which it is coloured. */
  language: string;
}

const ENDING = /\.([A-Za-z0-9]+)$/;

/** Return a call's arguments one by one, long texts as they are. */
export function givenOf({ input, malformed, name: tool }: ToolItem): Given[] {
  if (malformed) return [{ name: "", text: malformed, language: "" }];
  const path = typeof input["path"] === "string" ? input["path"] : "";
  return Object.entries(input).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    if (typeof value !== "string") return { name, text, language: "json" };
    if (name === "command" || tool === "bash") return { name, text, language: "bash" };
    return { name, text, language: name === "content" ? (ENDING.exec(path)?.[1] ?? "") : "" };
  });
}

/** Return a result without its exit code, and set out as JSON if it is some. */
export function outputOf(content: string): { text: string; language: string } {
  const output = content.replace(EXIT, "");
  if (/^\s*[[{]/.test(output)) {
    try {
      return { text: JSON.stringify(JSON.parse(output), null, 2), language: "json" };
    } catch {
      // It only begins like JSON.
    }
  }
  return { text: output, language: "" };
}
