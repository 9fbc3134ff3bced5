// Items as rows: who begins to speak, where a day begins, from where on it is unread. Pure.
import { makeDayOf } from "~/ui";
import { COORDINATOR, HUMAN, type Item, type Message } from "./items";

export interface Row {
  readonly key: string;
  readonly item: Item;
  /** Its author is named: another one than before, or after a while. */
  readonly isFirst: boolean;
  /** A day begins here, in the reader's zone. */
  readonly isNewDay: boolean;
  /** The first that the person had not read when he came. */
  readonly isFirstUnread: boolean;
  /** The message that it answers, unless that is the last one that came before it. */
  readonly quoted: Message | null;
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

const isVoice = (item: Item) => item.is === "message" || item.is === "thought";

/** Return the rows of items; `readTo` is the `seq` of the last message that was read before. */
export function rowsOf(items: readonly Item[], readTo: number): Row[] {
  let author = "";
  let spokenAt = -Infinity;
  let hasUnread = false;
  const quotedOf = makeQuotedOf();
  const dayOf = makeDayOf();
  let day = NaN;
  return items.map((item) => {
    const isNewDay = day !== dayOf(item.at);
    day = dayOf(item.at);
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
    return { key: item.key, item, isFirst, isNewDay, isFirstUnread, quoted: quotedOf(item) };
  });
}

/** Return what finds the message that one answers, as long as it is asked in their order. */
function makeQuotedOf(): (item: Item) => Message | null {
  const known = new Map<string, Message>();
  let last = "";
  return (item) => {
    if (item.is !== "message") return null;
    const { id, in_reply_to: answered } = item.message;
    const quoted = answered && answered !== last ? (known.get(answered) ?? null) : null;
    known.set(id, item.message);
    last = id;
    return quoted;
  };
}

const isUnread = (item: Item, readTo: number) =>
  item.is === "message" && item.message.from !== HUMAN && item.message.seq > readTo;

/** Return how many texts have come after the row with this key. */
export function countAfter(rows: readonly Row[], key: string): number {
  const place = rows.findLastIndex((row) => row.key === key);
  return rows.slice(place + 1).filter((row) => isVoice(row.item)).length;
}

/**
 * Return whose messages are read with a conversation: the entity's; with the coordinator's also those
 * of all who have no conversation of their own in this run.
 */
export function readWith(entity: string, unread: Readonly<Record<string, number>>, team: readonly string[]) {
  return Object.keys(unread).filter(
    (name) => name === entity || (entity === COORDINATOR && name !== HUMAN && !team.includes(name)),
  );
}

/** Whether two rows look the same. */
export function isSameRow(one: Row, other: Row): boolean {
  return (
    one.key === other.key &&
    one.isFirst === other.isFirst &&
    one.isNewDay === other.isNewDay &&
    one.isFirstUnread === other.isFirstUnread &&
    one.quoted === other.quoted &&
    one.item === other.item
  );
}
