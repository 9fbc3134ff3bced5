// What of the board is shown and how: it stands in the address, so that a link leads to the same.
import { useMemo } from "react";
import { useSearchParams } from "react-router";

import { useIsNarrow } from "~/ui";

export interface View {
  as: "graph" | "table";
  /** Only nodes with one of these statuses; none: all. */
  statuses: readonly string[];
  /** Only what the open node came of and leads to. */
  isFocused: boolean;
  hasMessages: boolean;
  /** The board as it was when so much had happened; null: as it is. */
  at: number | null;
}

const whole = (text: string | null): number | null =>
  text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;

export function useView(): [View, (change: Partial<View>) => void] {
  const [params, setParams] = useSearchParams();
  const isNarrow = useIsNarrow();
  const view = useMemo<View>(() => {
    const as = params.get("view");
    return {
      as: as === "graph" || as === "table" ? as : isNarrow ? "table" : "graph",
      statuses: params.get("status")?.split(",").filter(Boolean) ?? [],
      isFocused: params.has("focus"),
      hasMessages: params.has("messages"),
      at: whole(params.get("at")),
    };
  }, [params, isNarrow]);
  const change = (wanted: Partial<View>) =>
    setParams(
      () => {
        // The address itself: two keys may come before the first one's change is rendered.
        const next = new URLSearchParams(window.location.search);
        const put = (name: string, value: string) =>
          value ? next.set(name, value) : next.delete(name);
        if (wanted.as) put("view", wanted.as);
        if (wanted.statuses) put("status", wanted.statuses.join(","));
        if (wanted.isFocused !== undefined) put("focus", wanted.isFocused ? "1" : "");
        if (wanted.hasMessages !== undefined) put("messages", wanted.hasMessages ? "1" : "");
        if (wanted.at !== undefined) put("at", wanted.at === null ? "" : String(wanted.at));
        return next;
      },
      { replace: true },
    );
  return [view, change];
}
