// What a person writes about a new trigger, made into a request; and triggers in words. Pure.
import type { Schemas } from "~/api/client";

export type Trigger = Schemas["TriggerView"];
export type TriggerType = Trigger["type"];
export type Wanted = Schemas["CreateTriggerRequest"];

export const TYPES = [
  "scheduled",
  "delayed",
  "at_time",
  "heartbeat",
  "on_event",
  "on_idle",
] as const satisfies readonly TriggerType[];

export const ACTIONS = ["wake_agent", "send_message", "run_node", "run_callback"] as const;
export type ActionType = (typeof ACTIONS)[number];

/** The fields of each type, and of each action, in their order. */
export const FIELDS = {
  scheduled: ["cron", "time_zone"],
  delayed: ["delay_seconds"],
  at_time: ["at", "time_zone"],
  heartbeat: ["interval_seconds"],
  on_event: ["event_pattern", "filter"],
  on_idle: ["idle_seconds"],
} as const satisfies Record<TriggerType, readonly string[]>;

export const PAYLOADS = {
  wake_agent: ["task"],
  send_message: ["to", "content"],
  run_node: ["node_id"],
  run_callback: ["callback"],
} as const satisfies Record<ActionType, readonly string[]>;

export type ConfigField = (typeof FIELDS)[TriggerType][number];
export type PayloadField = (typeof PAYLOADS)[ActionType][number];

export interface Draft {
  type: TriggerType;
  action: ActionType;
  name: string;
  missed: Trigger["missed"];
  values: Partial<Record<ConfigField | PayloadField, string>>;
}

export const newDraft = (timeZone: string): Draft => ({
  type: "scheduled",
  action: "wake_agent",
  name: "",
  missed: "once",
  values: { cron: "0 9 * * MON-FRI", time_zone: timeZone },
});

const OPTIONAL: readonly string[] = ["time_zone", "filter"];

/** Return the request that a draft makes; null while something that is needed is empty. */
export function requestOf(draft: Draft): Wanted | null {
  const config: Record<string, unknown> = { missed: draft.missed };
  for (const field of FIELDS[draft.type]) {
    const text = draft.values[field]?.trim() ?? "";
    if (!text && OPTIONAL.includes(field)) continue;
    if (!text) return null;
    config[field] = field === "filter" ? factsOf(text) : text;
  }
  const payload: Record<string, string> = {};
  for (const field of PAYLOADS[draft.action]) {
    const text = draft.values[field]?.trim() ?? "";
    if (!text) return null;
    payload[field] = text;
  }
  return { type: draft.type, config, action: { type: draft.action, payload }, name: draft.name.trim() };
}

/** Return the facts of a filter: one `name=value` in each line. */
export function factsOf(text: string): Record<string, string> {
  const facts: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const place = line.indexOf("=");
    if (place > 0) facts[line.slice(0, place).trim()] = line.slice(place + 1).trim();
  }
  return facts;
}

/** Return the same request with words for what is not written yet, to ask when it would fire. */
export function planOf(draft: Draft): Wanted | null {
  const values = { ...draft.values };
  for (const field of PAYLOADS[draft.action]) {
    if (draft.action === "wake_agent" || draft.action === "send_message") values[field] ||= "…";
  }
  return requestOf({ ...draft, values });
}

const text = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value) ?? "");

/** Return what a trigger does: the text of it. */
export function deed(trigger: Pick<Trigger, "action">): { type: string; said: string } {
  const { type, payload } = trigger.action as { type?: unknown; payload?: Record<string, unknown> };
  return { type: text(type), said: Object.values(payload ?? {}).map(text).join(", ") };
}

/** Return a length of time in words of the API: `90 s`, `5 min`, `2 h`, `1 d`. */
export function length(seconds: unknown): string {
  const count = Number(seconds);
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]] as const) {
    if (count >= size && count % size === 0) return `${count / size} ${unit}`;
  }
  return `${count} s`;
}

export type Facts = {
  cron?: string;
  time_zone?: string;
  at?: string;
  event_pattern?: string;
  filter?: string;
  /** A length of time. */
  time?: string;
};

/** Return the facts of a trigger's schedule that a sentence about it needs. */
export function schedule(trigger: Pick<Trigger, "config">): Facts {
  const config = trigger.config;
  const facts: Record<string, string> = {};
  for (const [key, value] of Object.entries(config)) {
    if (key.endsWith("_seconds")) facts["time"] = length(value);
    else if (key === "filter") {
      facts["filter"] = Object.entries((value ?? {}) as Record<string, unknown>)
        .map(([name, one]) => `${name}=${text(one)}`)
        .join(", ");
    } else facts[key] = text(value);
  }
  return facts;
}

/** Those that still wait, then those that have ended, the newest first. */
export function inOrder(triggers: readonly Trigger[]): Trigger[] {
  const rank = (one: Trigger) => (isCurrent(one) ? 0 : 1);
  return triggers.toSorted(
    (a, b) => rank(a) - rank(b) || (a.next_due ?? Infinity) - (b.next_due ?? Infinity) || b.created_at - a.created_at,
  );
}

export const isCurrent = (trigger: Pick<Trigger, "status">): boolean =>
  trigger.status === "active" || trigger.status === "paused";
