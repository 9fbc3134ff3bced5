// One conversation of three logs: the thread, the transcript and the events, in the order in which
// things happened, each once. Pure.
//
// Each log comes in pages from its end. What is older than the oldest page of a log that goes on
// before it is held back, for it would have gaps: the horizon. A log's own order is kept whatever
// its clocks said, so that what was shown stays where it is when something is added at either end.
import type { ConversationMessage, TranscriptEntry } from "~/api/stretches";
import type { AgentEvent } from "~/live/eventLog";
import { type Item, messageKey, ofEvents, ofMessages, ofTranscript } from "./items";

export interface Logs {
  /** Whose conversation it is, by name. */
  readonly entity: string;
  readonly messages: readonly ConversationMessage[];
  readonly entries: readonly TranscriptEntry[];
  readonly events: readonly AgentEvent[];
}

/** How far back a log has been read. */
export interface Reach {
  /** When the oldest that was read happened; undefined if nothing was found yet. */
  readonly first: number | undefined;
  readonly hasOlder: boolean;
}

/** Return from when on every log has been read. */
export function horizonOf(reaches: readonly Reach[]): number {
  const open = reaches.filter((reach) => reach.hasOlder);
  return Math.max(-Infinity, ...open.map((reach) => reach.first ?? Infinity));
}

/** Whether a log is what keeps older things from being shown. */
export const isInTheWay = (reach: Reach, horizon: number): boolean =>
  reach.hasOlder && (reach.first ?? Infinity) >= horizon;

interface Placed {
  readonly item: Item;
  readonly at: number;
  readonly log: number;
  readonly place: number;
}

/** Return everything since the horizon, oldest first. */
export function merge({ entity, messages, entries, events }: Logs, horizon = -Infinity): Item[] {
  const work = ofTranscript(entity, entries);
  return merged({ talk: ofMessages(messages), work, seen: ofEvents(events) }, horizon);
}

/** The three logs, each as items: what has not changed need not be made again. */
export interface ItemLogs {
  readonly talk: readonly Item[];
  readonly work: readonly Item[];
  readonly seen: readonly Item[];
}

/** As `merge`, of logs that are items already. A conversation is long and grows often. */
export function merged({ talk, work, seen }: ItemLogs, horizon: number): Item[] {
  const sent = new Set(talk.map((item) => item.key));
  const placed: Placed[] = [];
  [talk, work, seen].forEach((items, log) => {
    let at = -Infinity;
    items.forEach((item, place) => {
      if (item.is === "thought" && item.message && sent.has(messageKey(item.message))) return;
      at = Math.max(at, item.at);
      if (at >= horizon) placed.push({ item, at, log, place });
    });
  });
  placed.sort((one, other) => one.at - other.at || one.log - other.log || one.place - other.place);
  const known = new Set<string>();
  const found: Item[] = [];
  for (const { item } of placed) {
    if (known.has(item.key)) continue;
    known.add(item.key);
    found.push(item);
  }
  return found;
}
