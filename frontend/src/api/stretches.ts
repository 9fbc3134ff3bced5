// The thread with an agent: the newest stretch first, older ones by pages, newer ones added.
import {
  type InfiniteData,
  infiniteQueryOptions,
  type Query,
  type QueryClient,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect, useMemo } from "react";

import { api, type Schemas, take } from "./client";
import { ofAgent, type QueryKey } from "./keys";

const PAGE = 100;
type Cursor = { before: number } | { after: number };
const NEWEST = { before: 2 ** 53 } as Cursor;

export type ThreadPage = Schemas["ThreadPageView"];
export type ThreadEntry = Schemas["ThreadEntryView"];
type Stretches = InfiniteData<ThreadPage, Cursor>;
type Newer = (after: number) => Promise<ThreadPage>;

const RESULTS: ThreadEntry["kind"][] = ["message", "nudge", "question", "answer", "result"];

/** The kinds of entries to ask for: all, or only messages and results. */
export const kindsOf = (isAll: boolean) => (isAll ? undefined : RESULTS);

/** The conversation with an entity of an agent, or only messages and results. */
export function threadQuery(agent: string, entity: string, isAll: boolean) {
  const kind = kindsOf(isAll);
  const read = (cursor: Cursor, signal?: AbortSignal) =>
    take(
      api.GET("/agents/{agent}/thread", {
        params: { path: { agent }, query: { ...cursor, entity, kind, limit: PAGE } },
        signal: signal ?? null,
      }),
    );
  return infiniteQueryOptions({
    queryKey: ofAgent(agent, "thread", entity, isAll),
    initialPageParam: NEWEST,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    getPreviousPageParam: (page: ThreadPage): Cursor | undefined =>
      page.previous === null ? undefined : { before: page.previous },
    getNextPageParam: (): Cursor | undefined => undefined,
    staleTime: Infinity,
    refetchOnReconnect: false,
    refetchOnWindowFocus: false,
    meta: { newer: ((after) => read({ after })) satisfies Newer },
  });
}

/** `entries` in their order. `fetchPreviousPage` adds older ones; newer ones come by themselves. */
export function useThreadEntries(agent: string, entity: string, isAll: boolean) {
  const options = threadQuery(agent, entity, isAll);
  const query = useInfiniteQuery(options);
  useCatchUp(options.queryKey);
  const entries = useMemo(() => entriesOf(query.data?.pages ?? []), [query.data]);
  return { ...query, entries };
}

interface Call {
  who: string;
  run: string | null;
  step: string;
  output: string;
  characters: number;
}

/** Return the whole result of a tool call; only its beginning until the whole is loaded. */
export function useCallOutput(agent: string, { who, run, step, output, characters }: Call): string {
  const query = { entity: who, run, step, limit: 10 };
  const { data } = useQuery({
    queryKey: ofAgent(agent, "thread", "output", who, run, step),
    queryFn: ({ signal }) =>
      take(api.GET("/agents/{agent}/transcript", { params: { path: { agent }, query }, signal })),
    enabled: step !== "" && characters > output.length,
    staleTime: Infinity,
    meta: { newer: null },
  });
  return data?.entries.find((entry) => entry.kind === "tool.finished")?.content ?? output;
}

/** Get what has come since one was last here. */
function useCatchUp(key: QueryKey): void {
  const client = useQueryClient();
  const name = JSON.stringify(key);
  useEffect(() => void catchUp(client, JSON.parse(name) as QueryKey), [client, name]);
}

// --- newer ones ---

/** Return the entries of pages, each once: a change may be on a later page than its beginning. */
export function entriesOf(pages: readonly ThreadPage[]): ThreadEntry[] {
  const found = new Map<string, ThreadEntry>();
  for (const entry of pages.flatMap((page) => page.entries)) {
    const known = found.get(entry.id);
    found.set(entry.id, known ? changedTo(known, entry) : entry);
  }
  return [...found.values()];
}

/** Return the later state of an entry; its place and the input of its call stay. */
function changedTo(known: ThreadEntry, next: ThreadEntry): ThreadEntry {
  const { seq, ts } = known;
  const call = next.call && { ...next.call, arguments: next.call.arguments ?? known.call?.arguments ?? null };
  return { ...next, seq, ts, call };
}

/** Return the stretches with the entries that have changed; a known id keeps its place. */
export function withNewer(known: Stretches, newer: ThreadPage): Stretches {
  const last = known.pages.at(-1);
  if (!last) return known;
  const changed = new Map(newer.entries.map((entry) => [entry.id, entry]));
  const first = known.pages[0]?.previous ?? 0;
  const pages = known.pages.map((page) => {
    if (!page.entries.some((entry) => changed.has(entry.id))) return page;
    const entries = page.entries.map((entry) => {
      const next = changed.get(entry.id);
      changed.delete(entry.id);
      return next ? changedTo(entry, next) : entry;
    });
    return { ...page, entries };
  });
  const came = [...changed.values()].filter((entry) => entry.seq >= first);
  const end = pages[pages.length - 1] ?? last;
  const entries = came.length
    ? [...end.entries, ...came].toSorted((one, other) => one.seq - other.seq)
    : end.entries;
  pages[pages.length - 1] = { ...end, entries, next: Math.max(last.next, newer.next) };
  return { ...known, pages };
}

const running = new Map<string, { again: boolean }>();

/** Add to threads below a key what they lack, on screen or about to be. */
export async function catchUp(client: QueryClient, key: QueryKey): Promise<void> {
  const queries = client.getQueryCache().findAll({ queryKey: key, type: "active" });
  await Promise.all(queries.map((query) => catchUpOne(client, query)));
}

async function catchUpOne(client: QueryClient, query: Query): Promise<void> {
  const busy = running.get(query.queryHash);
  if (busy) {
    busy.again = true;
    return;
  }
  const mine = { again: true };
  running.set(query.queryHash, mine);
  try {
    while (mine.again) {
      mine.again = false;
      if (await addNewer(client, query)) mine.again = true;
    }
  } catch {
    // The gateway is away: the next event, or the next look, brings it.
  } finally {
    running.delete(query.queryHash);
  }
}

/** Add one page of what is newer; return whether to look again. */
async function addNewer(client: QueryClient, query: Query): Promise<boolean> {
  await settled(query);
  const before = query.state.data as Stretches | undefined;
  const newer = query.meta?.["newer"] as Newer | undefined;
  const after = before?.pages.at(-1)?.next;
  if (after === undefined || !newer) return false;
  const stretch = await newer(after);
  if (query.state.fetchStatus !== "idle") return true; // its pages would replace ours
  if (stretch.next > after) {
    client.setQueryData<Stretches>(query.queryKey, (known) => known && withNewer(known, stretch));
  }
  return stretch.next > after;
}

async function settled(query: Query): Promise<void> {
  if (query.state.fetchStatus === "fetching") await query.promise?.catch(() => undefined);
}

/** Have everything below a key asked for again, and threads extended. */
export async function refresh(client: QueryClient, key: QueryKey): Promise<void> {
  const asked = client.invalidateQueries({
    queryKey: key,
    predicate: (query) => query.meta?.["newer"] === undefined,
  });
  await Promise.all([asked, catchUp(client, key)]);
}
