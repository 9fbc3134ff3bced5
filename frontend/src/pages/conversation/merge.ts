// One conversation of three logs: the thread, the transcript and the events, in the order in which
// things happened, each once. Pure.
//
// Each log comes in pages from its end. What is older than the oldest page of a log that goes on
// before it is held back, for it would have gaps: the horizon. A log's own order is kept whatever
// its clocks said, so that what was shown stays where it is when something is added at either end.
import type { ConversationMessage, TranscriptEntry } from "~/api/stretches";
import type { AgentEvent } from "~/live/eventLog";
import { type Item, ofEvents, ofMessages, ofTranscript, type Spoken } from "./items";

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
export function merge(logs: Logs, horizon = -Infinity): Item[] {
  const transcript = ofTranscript(logs.entity, logs.entries);
  const doubles = saidToHuman(transcript.spoken, logs.messages);
  const ofLogs = [
    ofMessages(logs.messages),
    transcript.items.filter((item) => !doubles.has(item.key)),
    ofEvents(logs.events),
  ];
  const placed = ofLogs.flatMap(inOwnOrder).filter(({ at }) => at >= horizon);
  placed.sort((one, other) => one.at - other.at || one.log - other.log || one.place - other.place);
  const seen = new Set<string>();
  return placed.flatMap(({ item }) => {
    if (seen.has(item.key)) return [];
    seen.add(item.key);
    return [item];
  });
}

function inOwnOrder(items: readonly Item[], log: number): Placed[] {
  let at = -Infinity;
  return items.map((item, place) => {
    at = Math.max(at, item.at);
    return { item, at, log, place };
  });
}

const CLOCKS_DIFFER_SECONDS = 2;

/** Return the keys of what an entity's model said that stands in the thread as a message. */
function saidToHuman(
  spoken: ReadonlyMap<string, Spoken>,
  messages: readonly ConversationMessage[],
): Set<string> {
  const open = new Map<string, ConversationMessage[]>();
  for (const message of messages) {
    const text = message.content.trim();
    open.set(text, [...(open.get(text) ?? []), message]);
  }
  const found = new Set<string>();
  for (const [key, { entity, at, text }] of spoken) {
    const same = open.get(text);
    const place = same?.findIndex(
      (message) => message.from === entity && message.ts >= at - CLOCKS_DIFFER_SECONDS,
    );
    if (same === undefined || place === undefined || place < 0) continue;
    same.splice(place, 1);
    found.add(key);
  }
  return found;
}
