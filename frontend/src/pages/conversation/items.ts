// What a conversation is made of: the entries of the thread as things to show. Pure.
import type { ThreadEntry } from "~/api/stretches";
import type { AgentEvent } from "~/live/eventLog";

export const HUMAN = "human";
export const COORDINATOR = "coordinator";
export const EVERYONE = "*";

interface Base {
  readonly key: string;
  /** Seconds since 1970. */
  readonly at: number;
}

/** A text between the person and an entity; `seq` is its number in the inbox. */
export interface Message {
  readonly id: string;
  readonly seq: number;
  readonly from: string;
  readonly to: string;
  readonly content: string;
  readonly ts: number;
  readonly kind: "text" | "nudge" | "question" | "answer";
  readonly question_id: string | null;
  readonly in_reply_to: string | null;
}

export interface MessageItem extends Base {
  readonly is: "message";
  readonly message: Message;
  /** The id by which its text was streamed. */
  readonly answer: string | null;
}

/** What an entity's model said to nobody in particular, beside its calls. */
export interface ThoughtItem extends Base {
  readonly is: "thought";
  readonly who: string;
  readonly text: string;
  readonly answer: string | null;
  readonly isInterrupted: boolean;
}

export type Outcome = "running" | "done" | "failed";

export interface ToolItem extends Base {
  readonly is: "tool";
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** The arguments as the model wrote them, if they are not a JSON object. */
  readonly malformed: string | null;
  /** The beginning of the result, which has so many `characters`. */
  readonly output: string;
  readonly characters: number;
  readonly outcome: Outcome;
  readonly exitCode: number | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
  /** The place of the whole result in the transcripts: the entity, its run, the step. */
  readonly who: string;
  readonly run: string | null;
  readonly step: string;
}

/** A text between two entities. */
export interface HeardItem extends Base {
  readonly is: "heard";
  readonly from: string;
  readonly to: string;
  readonly text: string;
}

export interface EventItem extends Base {
  readonly is: "event";
  readonly event: AgentEvent;
}

export type Item = MessageItem | ThoughtItem | ToolItem | HeardItem | EventItem;

/** An entry that has not changed is the same item. */
const made = new WeakMap<ThreadEntry, Item>();

/** Return an entry of the thread as what is shown. */
export function itemOf(entry: ThreadEntry): Item {
  const known = made.get(entry);
  if (known) return known;
  const item = newItem(entry);
  made.set(entry, item);
  return item;
}

function newItem(entry: ThreadEntry): Item {
  const { id, call, event, content, from, answer } = entry;
  const base = { key: id, at: entry.ts };
  if (event) return { ...base, is: "event", event };
  if (call) return { ...base, ...toolOf(entry, call), is: "tool" };
  if (entry.kind === "said") {
    return { ...base, is: "thought", who: from, text: content, answer, isInterrupted: entry.is_interrupted };
  }
  const to = entry.to.join(", ");
  if (from !== HUMAN && !entry.to.includes(HUMAN)) return { ...base, is: "heard", from, to, text: content };
  const kind = entry.kind === "message" ? "text" : (entry.kind as Message["kind"]);
  const { question_id, in_reply_to, ts } = entry;
  const seq = entry.number ?? 0;
  const message = { id, seq, from, to, content, ts, kind, question_id, in_reply_to };
  return { ...base, is: "message", message, answer };
}

function toolOf(entry: ThreadEntry, call: NonNullable<ThreadEntry["call"]>) {
  return {
    name: call.name,
    input: call.arguments ?? {},
    malformed: call.malformed ?? null,
    output: call.output,
    characters: call.characters ?? call.output.length,
    outcome: call.outcome,
    exitCode: call.exit_code,
    startedAt: entry.ts,
    endedAt: call.ended_at,
    who: entry.from,
    run: entry.run,
    step: call.step ?? "",
  };
}

export const inWords = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, null, 1) ?? "");
