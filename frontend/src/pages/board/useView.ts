// What of the board is shown and how: it stands in the address, so that a link leads to the same.
import { useMemo } from "react";

import { useIsNarrow, useQuery } from "~/ui";

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
  const [params, setParams] = useQuery();
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
    setParams({
      ...(wanted.as && { view: wanted.as }),
      ...(wanted.statuses && { status: wanted.statuses.join(",") }),
      ...(wanted.isFocused !== undefined && { focus: wanted.isFocused ? "1" : null }),
      ...(wanted.hasMessages !== undefined && { messages: wanted.hasMessages ? "1" : null }),
      ...(wanted.at !== undefined && { at: wanted.at === null ? null : String(wanted.at) }),
    });
  return [view, change];
}
