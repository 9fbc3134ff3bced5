// One row of a conversation, with the day and the unread mark before it.
import { memo } from "react";
import { useTranslation } from "react-i18next";

import { classes } from "~/ui";
import { dayName } from "./days";
import { EventNote, HeardNote } from "./Notes";
import type { Item } from "./items";
import { Message, Thought } from "./Message";
import { isSameRow, type Row } from "./rows";
import styles from "./Thread.module.css";
import { ToolCall } from "./ToolCall";

interface EntryProps {
  row: Row;
  agent: string;
  entity: string;
  isFound: boolean;
  onReply: (item: Item) => void;
}

export const Entry = memo(function Entry({ row, agent, entity, isFound, onReply }: EntryProps) {
  const { t, i18n } = useTranslation("conversation");
  const { item, isNewDay, isFirstUnread } = row;
  return (
    <>
      {isNewDay && (
        <div className={styles.day} role="separator">
          <span>{dayName(item.at, Date.now() / 1000, i18n.language)}</span>
        </div>
      )}
      {isFirstUnread && (
        <div className={styles.unread} role="separator">
          <span>{t("unreadMark")}</span>
        </div>
      )}
      <div
        className={classes(styles.entry, isFound && styles.isFound)}
        data-entry={item.is}
        data-key={row.key}
      >
        <Content row={row} agent={agent} entity={entity} onReply={onReply} />
      </div>
    </>
  );
}, isSame);

function isSame(one: EntryProps, other: EntryProps): boolean {
  return (
    one.agent === other.agent &&
    one.isFound === other.isFound &&
    one.onReply === other.onReply &&
    isSameRow(one.row, other.row)
  );
}

function Content({ row, agent, entity, onReply }: Omit<EntryProps, "isFound">) {
  const { item } = row;
  switch (item.is) {
    case "message":
      return <Message row={row} item={item} agent={agent} onReply={() => onReply(item)} />;
    case "thought":
      return <Thought item={item} isFirst={row.isFirst} />;
    case "tool":
      return <ToolCall item={item} agent={agent} />;
    case "heard":
      return <HeardNote item={item} entity={entity} />;
    default:
      return <EventNote item={item} agent={agent} />;
  }
}
