// The thread: rows of which only those on screen exist, what is being written, the way to the end.
import { useCallback, useEffect, useImperativeHandle, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { useStreamedText } from "~/live/Live";
import { Icon, Spinner, VirtualList, type VirtualListHandle } from "~/ui";
import { Entry } from "./Entry";
import type { Item } from "./items";
import type { Outgoing } from "./outbox";
import { PendingMessage, StreamedMessage } from "./Pending";
import { countAfter, type Row } from "./rows";
import styles from "./Thread.module.css";

export type ThreadRow =
  | { is: "row"; key: string; row: Row }
  | { is: "pending"; key: string; sent: Outgoing }
  | { is: "stream"; key: string; text: string; isBroken: boolean };

export interface ThreadProps {
  ref?: React.Ref<VirtualListHandle>;
  rows: readonly Row[];
  pending: readonly Outgoing[];
  entity: string;
  agent: string;
  found: string | null;
  hasOlder: boolean;
  onOlder: () => void;
  onAtEnd: (isAtEnd: boolean) => void;
  onReply: (item: Item) => void;
}

export function Thread(props: ThreadProps) {
  const { ref, rows, entity, onAtEnd, onOlder, hasOlder } = props;
  const { t } = useTranslation("conversation");
  const list = useRef<VirtualListHandle>(null);
  const [leftAt, setLeftAt] = useState<string | null>(null);
  const all = useRows(props);
  useImperativeHandle(ref, () => ({
    toEnd: () => list.current?.toEnd(),
    toKey: (key) => list.current?.toKey(key),
  }));

  const lastKey = rows.at(-1)?.key ?? "";
  const see = useCallback(
    (isAtEnd: boolean) => {
      setLeftAt(isAtEnd ? null : lastKey);
      onAtEnd(isAtEnd);
    },
    [lastKey, onAtEnd],
  );
  const count = leftAt === null ? 0 : countAfter(rows, leftAt);
  useOwnToEnd(props.pending, list);
  return (
    <div className={styles.thread}>
      <VirtualList
        ref={list}
        rows={all}
        rowKey={keyOf}
        label={t("thread", { entity })}
        isFromEnd
        role="log"
        onNearStart={onOlder}
        onAtEnd={see}
      >
        {(row, index) => (
          <>
            {index === 0 && (
              <div className={styles.start}>{hasOlder ? <Spinner /> : t("start", { entity })}</div>
            )}
            <ThreadEntry row={row} props={props} />
            {index === all.length - 1 && <div className={styles.end} />}
          </>
        )}
      </VirtualList>
      {leftAt !== null && (
        <button type="button" className={styles.latest} onClick={() => list.current?.toEnd()}>
          <Icon name="down" />
          {count ? t("newer", { count }) : t("latest")}
        </button>
      )}
    </div>
  );
}

const keyOf = (row: ThreadRow) => row.key;

function ThreadEntry({ row, props }: { row: ThreadRow; props: ThreadProps }) {
  if (row.is !== "row") {
    return (
      <div className={styles.entry} data-entry={row.is}>
        {row.is === "pending" ? (
          <PendingMessage sent={row.sent} />
        ) : (
          <StreamedMessage who={props.entity} text={row.text} isBroken={row.isBroken} />
        )}
      </div>
    );
  }
  return (
    <Entry
      row={row.row}
      agent={props.agent}
      entity={props.entity}
      isFound={row.key === props.found}
      onReply={props.onReply}
    />
  );
}

/** What is there, then what is being written, then what is on its way. */
function useRows({ rows, pending, entity }: ThreadProps): ThreadRow[] {
  const stream = useStreamedText(entity);
  const all: ThreadRow[] = rows.map((row) => ({ is: "row", key: row.key, row }));
  if (stream?.text.trim() && !isThere(rows, stream.call)) {
    const { call, text, hasGap } = stream;
    all.push({ is: "stream", key: `s:${call}`, text, isBroken: hasGap });
  }
  for (const sent of pending) all.push({ is: "pending", key: `p:${sent.key}`, sent });
  return all;
}

const LOOK_BACK = 12;

/** Whether what was being written is an entry by now. */
const isThere = (rows: readonly Row[], call: string): boolean =>
  rows.slice(-LOOK_BACK).some(({ item }) => "answer" in item && item.answer === call);

/** Who sends something wants to see it. */
function useOwnToEnd(
  pending: readonly Outgoing[],
  list: React.RefObject<VirtualListHandle | null>,
): void {
  const newest = pending.at(-1)?.key;
  useEffect(() => {
    if (newest) list.current?.toEnd();
  }, [newest, list]);
}
