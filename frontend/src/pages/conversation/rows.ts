// Items as rows: who begins to speak, where a day begins, from where on it is unread. Pure.
import { HUMAN, type Item } from "./items";

export interface Row {
  readonly key: string;
  readonly item: Item;
  /** Its author is named: another one than before, or after a while. */
  readonly isFirst: boolean;
  /** A day begins here, in the reader's zone. */
  readonly isNewDay: boolean;
  /** The first that the person had not read when he came. */
  readonly isFirstUnread: boolean;
}

const TOGETHER_SECONDS = 300;

export function authorOf(item: Item): string {
  switch (item.is) {
    case "message":
      return item.message.from;
    case "thought":
      return item.who;
    case "heard":
      return item.from;
    default:
      return "";
  }
}

const dayOf = (at: number) => new Date(at * 1000).toDateString();
const isVoice = (item: Item) => item.is === "message" || item.is === "thought";

/** Return the rows of items; `readTo` is the `seq` of the last message that was read before. */
export function rowsOf(items: readonly Item[], readTo: number): Row[] {
  let author = "";
  let spokenAt = -Infinity;
  let before: Item | undefined;
  let hasUnread = false;
  return items.map((item) => {
    const isNewDay = !before || dayOf(before.at) !== dayOf(item.at);
    const isFirstUnread = !hasUnread && isUnread(item, readTo);
    hasUnread ||= isFirstUnread;
    const isFirst =
      isNewDay ||
      isFirstUnread ||
      authorOf(item) !== author ||
      item.at - spokenAt > TOGETHER_SECONDS;
    if (isVoice(item) || item.is === "heard") {
      author = authorOf(item);
      spokenAt = item.at;
    } else if (item.is === "event") author = "";
    before = item;
    return { key: item.key, item, isFirst, isNewDay, isFirstUnread };
  });
}

const isUnread = (item: Item, readTo: number) =>
  item.is === "message" && item.message.from !== HUMAN && item.message.seq > readTo;

/** Return how many texts have come after the row with this key. */
export function countAfter(rows: readonly Row[], key: string): number {
  const place = rows.findLastIndex((row) => row.key === key);
  return rows.slice(place + 1).filter((row) => isVoice(row.item)).length;
}

/**
 * Return up to which message the person has read an agent's conversation, as one cursor for all of
 * its entities: not beyond the first text to him that he has not seen; null if it does not move.
 * Questions wait above every page, and are not missed.
 */
export function readUpTo(
  unread: readonly { seq: number; from: string; to: string; kind: string }[],
  seen: (message: { seq: number; from: string }) => boolean,
): number | null {
  let upTo: number | null = null;
  for (const message of unread) {
    if (message.to === HUMAN && message.kind !== "question" && !seen(message)) break;
    upTo = message.seq;
  }
  return upTo;
}

/** Whether two rows look the same. */
export function isSameRow(one: Row, other: Row): boolean {
  return (
    one.key === other.key &&
    one.isFirst === other.isFirst &&
    one.isNewDay === other.isNewDay &&
    one.isFirstUnread === other.isFirstUnread &&
    isSameItem(one.item, other.item)
  );
}

function isSameItem(one: Item, other: Item): boolean {
  if (one.is === "message" && other.is === "message") return one.message === other.message;
  if (one.is === "event" && other.is === "event") return one.event === other.event;
  if (one.is === "tool" && other.is === "tool") {
    return (
      one.outcome === other.outcome &&
      one.startedAt === other.startedAt &&
      one.endedAt === other.endedAt &&
      one.at === other.at
    );
  }
  return one.is === other.is; // what was said or heard never changes
}
