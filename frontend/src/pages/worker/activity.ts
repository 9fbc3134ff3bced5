// What an entity did last, in a line each. Pure.
import type { Schemas } from "~/api/client";

type AgentEvent = Schemas["Event"];

const LONGEST = 240;
const text = (value: unknown): string =>
  typeof value === "string" ? value : value == null ? "" : JSON.stringify(value);

function argumentsOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return text(value);
  const all = value as Record<string, unknown>;
  const main = all["command"] ?? all["path"] ?? all["question"] ?? all["content"];
  return main === undefined
    ? Object.entries(all).map(([name, one]) => `${name}=${text(one)}`).join(" ")
    : text(main);
}

/** Return what an event says besides its type. */
export function sayingOf({ type, data }: AgentEvent): string {
  const said = (() => {
    if (type === "tool.called") return `${text(data["tool"])}: ${argumentsOf(data["arguments"])}`;
    if (type === "tool.result") return `${text(data["tool"])}: ${text(data["preview"])}`;
    if (type === "message.sent") return `→ ${text(data["to"])}: ${text(data["content"])}`;
    if (type === "message.received") return `${text(data["from"])} →: ${text(data["content"])}`;
    const keys = ["text", "summary", "reason", "cause", "why", "question", "name", "message"];
    return keys.map((key) => text(data[key])).find(Boolean) ?? "";
  })();
  const line = said.replace(/\s+/g, " ").trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}

export type Act = Schemas["SteeredView"]["act"];

const DOWN = new Set(["stopped", "failed", "finished"]);

/** Return what can be done with an entity that stands so. */
export function actsFor(status: string, process: string | null): Act[] {
  if (DOWN.has(status) || (process !== null && DOWN.has(process))) return ["resume", "restart"];
  const held: Act[] = status === "paused" ? ["step", "resume"] : ["pause", "interrupt"];
  return [...held, "restart", "stop", "kill"];
}
