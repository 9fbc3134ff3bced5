// A long list of which only what is on screen exists; for conversations its end is what holds.
//
// Older rows that are put before the first leave what is looked at where it is. Who is at the end
// stays there as rows come or grow; who is not is told that there are new ones (`onAtEnd`).
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  forwardRef,
  type ReactNode,
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
} from "react";

import styles from "./VirtualList.module.css";

const NEAR_START = 600;
const AT_END = 48;

/** Whether one is at the end: one who was stays there, however much comes, until he moves up. */
export const isStillAtEnd = (below: number, wasAtEnd: boolean, hasMovedUp: boolean): boolean =>
  below < AT_END || (wasAtEnd && !hasMovedUp);

export interface VirtualListHandle {
  toEnd: () => void;
  toKey: (key: string | number) => void;
}

export interface VirtualListProps<Row> {
  rows: readonly Row[];
  rowKey: (row: Row) => string | number;
  children: (row: Row, index: number) => ReactNode;
  label: string;
  estimate?: number;
  /** The end holds, and is shown first. */
  isFromEnd?: boolean;
  /** The start is near: what is before it is wanted. */
  onNearStart?: () => void;
  onNearEnd?: () => void;
  onAtEnd?: (isAtEnd: boolean) => void;
  /** "log" for what grows at its end. */
  role?: "list" | "log" | "feed";
}

function Inner<Row>(
  {
    rows,
    rowKey,
    children,
    label,
    estimate = 72,
    isFromEnd = false,
    onNearStart,
    onNearEnd,
    onAtEnd,
    role = "list",
  }: VirtualListProps<Row>,
  ref: React.ForwardedRef<VirtualListHandle>,
) {
  const frame = useRef<HTMLDivElement>(null);
  const wasAtEnd = useRef<boolean | null>(null);
  const top = useRef(0);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => estimate,
    getItemKey: useCallback((index: number) => rowKey(rows[index] as Row), [rows, rowKey]),
    overscan: 8,
    anchorTo: isFromEnd ? "end" : "start",
    followOnAppend: isFromEnd,
    scrollEndThreshold: AT_END,
  });

  const hasRows = rows.length > 0;
  useLayoutEffect(() => {
    if (isFromEnd && hasRows) list.scrollToEnd();
  }, [isFromEnd, hasRows, list]);

  // What is above or below may take room away: who is at the end stays there.
  useEffect(() => {
    const element = frame.current;
    if (!element || !isFromEnd || typeof ResizeObserver === "undefined") return;
    const observer = new ResizeObserver(() => wasAtEnd.current && list.scrollToEnd());
    observer.observe(element);
    return () => observer.disconnect();
  }, [isFromEnd, list]);

  useImperativeHandle(
    ref,
    () => ({
      toEnd: () => list.scrollToEnd(),
      toKey: (key) => {
        const index = rows.findIndex((row) => rowKey(row) === key);
        if (index >= 0) list.scrollToIndex(index, { align: "center" });
      },
    }),
    [list, rows, rowKey],
  );

  const look = () => {
    const element = frame.current;
    if (!element) return;
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    if (element.scrollTop < NEAR_START) onNearStart?.();
    if (below < NEAR_START) onNearEnd?.();
    const isAtEnd = isStillAtEnd(below, isFromEnd && wasAtEnd.current === true, element.scrollTop < top.current);
    top.current = element.scrollTop;
    if (isFromEnd && isAtEnd && below >= AT_END) list.scrollToEnd();
    if (isAtEnd !== wasAtEnd.current) onAtEnd?.(isAtEnd);
    wasAtEnd.current = isAtEnd;
  };
  useEffect(look);

  return (
    <div ref={frame} className={styles.frame} onScroll={look} tabIndex={0} aria-label={label} role="region">
      <div className={styles.all} style={{ height: list.getTotalSize() }} role={role} aria-label={label}>
        {list.getVirtualItems().map((item) => (
          <div
            key={item.key}
            ref={list.measureElement}
            data-index={item.index}
            className={styles.row}
            style={{ transform: `translateY(${item.start}px)` }}
            role={role === "feed" ? "article" : role === "list" ? "listitem" : undefined}
          >
            {children(rows[item.index] as Row, item.index)}
          </div>
        ))}
      </div>
    </div>
  );
}

export const VirtualList = forwardRef(Inner) as <Row>(
  props: VirtualListProps<Row> & { ref?: React.Ref<VirtualListHandle> },
) => ReactNode;
