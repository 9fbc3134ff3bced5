// The log of a node as lines: a tool call with its result is one. Pure.
import type { AgentEvent } from "~/live/eventLog";

export interface LogLine {
  readonly seq: number;
  readonly at: number;
  readonly sign: string;
  /** The tool of a call, '' for other events. */
  readonly tool: string;
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

/** Return the lines of a log, oldest first; `lineOf` returns the sentence of an event. */
export function logLinesOf(
  events: readonly AgentEvent[],
  lineOf: (event: AgentEvent) => string,
): LogLine[] {
  const lines: LogLine[] = [];
  for (const event of events) {
    const { seq, ts: at, type, data } = event;
    const last = lines.at(-1);
    const tool = type.startsWith("tool.") ? String(data["tool"]) : "";
    const isBad = event.tone === "bad";
    if (last && type === "tool.result" && last.tool === tool) {
      const text = `${last.text} → ${String(data["preview"] ?? "")}`.slice(0, MOST);
      lines[lines.length - 1] = { ...last, text, isBad };
    } else {
      const sign = SIGNS[type.split(".", 1)[0] ?? ""] ?? "·";
      lines.push({ seq, at, sign, tool, text: lineOf(event), isBad });
    }
  }
  return lines;
}
