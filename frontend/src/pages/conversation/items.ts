// What a conversation is made of: the thread, the transcript and the events as things to show. Pure.
import type { ConversationMessage, TranscriptEntry } from "~/api/stretches";
import type { AgentEvent } from "~/live/eventLog";

export const HUMAN = "human";
export const COORDINATOR = "coordinator";
export const EVERYONE = "*";

interface Base {
  readonly key: string;
  /** Seconds since 1970. */
  readonly at: number;
}

/** A text between the person and an entity. */
export interface MessageItem extends Base {
  readonly is: "message";
  readonly message: ConversationMessage;
}

/** What an entity's model said to nobody in particular, beside its calls. */
export interface ThoughtItem extends Base {
  readonly is: "thought";
  readonly who: string;
  readonly text: string;
  /** The id of the message to the person that it becomes, if a coordinator passes it on. */
  readonly message: string | null;
  readonly isInterrupted: boolean;
}

export type Outcome = "waiting" | "running" | "done" | "failed";

export interface ToolItem extends Base {
  readonly is: "tool";
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** What the model wrote, if it was no JSON object. */
  readonly malformed: string | null;
  readonly output: string | null;
  readonly outcome: Outcome;
  readonly exitCode: number | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

/** What an entity was told by another one, or by the runtime. */
export interface HeardItem extends Base {
  readonly is: "heard";
  readonly from: string;
  readonly kind: string;
  readonly text: string;
}

export interface EventItem extends Base {
  readonly is: "event";
  readonly event: AgentEvent;
}

export type Item = MessageItem | ThoughtItem | ToolItem | HeardItem | EventItem;

const HIDDEN_RECORDS = new Set(["epoch.began", "run.began", "node.closed", "published"]);
const ADDRESSED = /^\[Message from [^\]]*\]: (?:\(replying to your "[\s\S]*?"\) )?/;

/** Whether the effect of a call is shown as something else: a message, a question, the result. */
function isShownElsewhere({ name, input, outcome }: ToolItem): boolean {
  if (outcome === "failed") return false;
  return (
    name === "ask_human" || name === "finish" || (name === "send_message" && input["to"] === HUMAN)
  );
}

/** Return an entity's transcript as items. */
export function ofTranscript(entity: string, entries: readonly TranscriptEntry[]): Item[] {
  const items: Item[] = [];
  const calls = new Map<string, number>();
  for (const entry of entries) {
    const key = `t:${entity}:${entry.seq}`;
    const text = entry.content?.trim() ?? "";
    switch (entry.kind) {
      case "said": {
        if (text) {
          const { message, interrupted: isInterrupted } = entry;
          items.push({ is: "thought", key, at: entry.ts, who: entity, text, message, isInterrupted });
        }
        for (const { id, name, arguments: input, malformed } of entry.tool_calls) {
          calls.set(id, items.length);
          items.push({ ...newCall(id, name, entry.ts), input, malformed: malformed ?? null });
        }
        break;
      }
      case "tool.started":
      case "tool.finished": {
        const place = calls.get(entry.call_id) ?? items.length;
        calls.set(entry.call_id, place);
        const known = items[place] ?? newCall(entry.call_id, entry.name, entry.ts);
        if (known.is === "tool") items[place] = withRecord(known, entry);
        break;
      }
      default:
        if (isHeard(entry)) {
          const from = entry.from || "runtime";
          const shown = text.replace(ADDRESSED, "");
          items.push({ is: "heard", key, at: entry.ts, from, kind: entry.kind, text: shown });
        }
    }
  }
  return items.filter((item) => item.is !== "tool" || !isShownElsewhere(item));
}

/** What the person wrote is in the thread; what the board tells a coordinator is in the events. */
function isHeard(entry: TranscriptEntry): boolean {
  if (HIDDEN_RECORDS.has(entry.kind) || entry.kind.startsWith("outside.")) return false;
  if (entry.from === HUMAN || entry.from === "board") return false;
  if (entry.kind === "compacted") return true;
  return Boolean(entry.content?.trim()) && !entry.content?.startsWith("# Goal\n");
}

function newCall(id: string, name: string, at: number): ToolItem {
  return {
    is: "tool",
    key: `c:${id}`,
    at,
    name,
    input: {},
    malformed: null,
    output: null,
    outcome: "waiting",
    exitCode: null,
    startedAt: null,
    endedAt: null,
  };
}

function withRecord(known: ToolItem, entry: TranscriptEntry): ToolItem {
  const call = { ...known, input: entry.arguments ?? known.input };
  if (entry.kind === "tool.started") {
    return { ...call, startedAt: entry.ts, outcome: call.endedAt ? call.outcome : "running" };
  }
  const exitCode = entry.exit_code;
  const outcome = entry.is_error || (exitCode !== null && exitCode !== 0) ? "failed" : "done";
  const startedAt = entry.started_at ?? call.startedAt;
  return { ...call, output: entry.content ?? "", exitCode, startedAt, endedAt: entry.ts, outcome };
}

export const messageKey = (id: string): string => `m:${id}`;

export const ofMessages = (messages: readonly ConversationMessage[]): Item[] =>
  messages.map((message) => ({
    is: "message",
    key: messageKey(message.id),
    at: message.ts,
    message,
  }));

export const ofEvents = (events: readonly AgentEvent[]): Item[] =>
  events.map((event) => ({ is: "event", key: `e:${event.seq}`, at: event.ts, event }));

export const inWords = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, null, 1) ?? "");
