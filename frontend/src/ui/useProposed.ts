// What a file would become if an action were allowed: from the call that waits for it.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";

import { api, take } from "~/api/client";
import { ofAgent } from "~/api/keys";
import { isFolder, type Listing } from "~/api/queries";
import { transcriptQuery } from "~/api/stretches";
import type { Question } from "./question";

interface Proposed {
  before: string;
  after: string;
}

const WRITES = new Set(["write_file", "append_file"]);

/** Return the text before and after a file is written; null for anything else. */
export function useProposed({ agent, from, about, kind }: Question): Proposed | null {
  const isWrite = kind === "approval" && about !== null && WRITES.has(about.tool);
  const { data } = useInfiniteQuery({ ...transcriptQuery(agent, from), enabled: isWrite });
  const entries = data?.pages.flatMap((page) => page.entries) ?? [];
  const ended = new Set(entries.filter((one) => one.kind === "tool.finished").map((one) => one.call_id));
  const call = entries
    .flatMap((entry) => entry.tool_calls)
    .findLast((one) => one.name === about?.tool && !ended.has(one.id));
  const path = call?.arguments["path"];
  const content = call?.arguments["content"];
  const before = useQuery({
    queryKey: ofAgent(agent, "files", "proposed", String(path)),
    enabled: isWrite && typeof path === "string",
    retry: false,
    queryFn: ({ signal }) =>
      take(
        api.GET("/agents/{agent}/workspace", {
          params: { path: { agent }, query: { path: String(path) } },
          signal,
        }),
      ) as Promise<Listing>,
  });
  if (typeof content !== "string") return null;
  const known = before.data && !isFolder(before.data) ? before.data.content : "";
  return { before: known, after: content };
}
