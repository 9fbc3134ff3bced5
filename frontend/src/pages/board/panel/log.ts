// The log of a node as lines: a tool call with its result is one. Pure.
import type { Schemas } from "~/api/client";

export type AgentEvent = Schemas["Event"];

export interface LogLine {
  readonly seq: number;
  readonly at: number;
  readonly sign: string;
  readonly title: string;
  readonly text: string;
  readonly isBad: boolean;
}

const MOST = 400;

const SIGNS: Readonly<Record<string, string>> = {
  model: "◇",
  tool: "▸",
  node: "●",
  message: "✉",
  human: "?",
  memory: "≡",
  child: "↻",
  entity: "↻",
};

/** Return the lines of a log, oldest first. */
export function logLinesOf(events: readonly AgentEvent[]): LogLine[] {
  const lines: LogLine[] = [];
  for (const event of events) {
    const last = lines.at(-1);
    const isOfLast = last?.sign === SIGNS["tool"] && last?.title === said(event, "tool");
    if (last && isOfLast && event.type === "tool.result") {
      lines[lines.length - 1] = {
        ...last,
        text: [last.text, said(event, "preview")].filter(Boolean).join(" → ").slice(0, MOST),
        isBad: event.data["is_error"] === true,
      };
    } else lines.push(lineOf(event));
  }
  return lines;
}

function lineOf(event: AgentEvent): LogLine {
  const [group = "", act = ""] = event.type.split(".", 2);
  const about = { seq: event.seq, at: event.ts, sign: SIGNS[group] ?? "·" };
  const isBad = /failed|crashed|refused|deadlock|loop$/.test(act) || event.data["is_error"] === true;
  return { ...about, title: titleOf(event, group, act), text: textOf(event).slice(0, MOST), isBad };
}

const titleOf = (event: AgentEvent, group: string, act: string): string => {
  if (event.type === "tool.called" || event.type === "tool.result") return said(event, "tool");
  if (event.type === "model.answered") return said(event, "model");
  return group === "node" ? act.replaceAll("_", " ") : `${group} ${act.replaceAll("_", " ")}`;
};

function textOf(event: AgentEvent): string {
  if (event.type === "tool.called") return flat(event.data["arguments"]);
  const known = ["text", "content", "summary", "reason", "message", "question", "answer", "preview"];
  const text = known.map((name) => said(event, name)).find(Boolean) ?? "";
  const calls = event.type === "model.answered" ? flat(event.data["calls"]) : "";
  return [text, calls && `→ ${calls}`].filter(Boolean).join(" ");
}

function said(event: AgentEvent, field: string): string {
  const value = event.data[field];
  return typeof value === "string" ? value : "";
}

/** Return a value as one short line of text. */
function flat(value: unknown): string {
  if (value === null || value === undefined || value === "") return "";
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return value.map(flat).filter(Boolean).join(", ");
  const fields = Object.entries(value as Record<string, unknown>);
  return fields.map(([name, inner]) => `${name}: ${flat(inner)}`).join(", ");
}
