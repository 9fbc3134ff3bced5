// Conversations and transcripts: the newest stretch first, older ones by pages, newer ones added.
import {
  type InfiniteData,
  infiniteQueryOptions,
  type Query,
  type QueryClient,
  useInfiniteQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect, useMemo } from "react";

import { api, type Schemas, take } from "./client";
import { ofAgent, type QueryKey } from "./keys";

const PAGE = 100;
type Cursor = { before: number } | { after: number };
const NEWEST = { before: 2 ** 53 } as Cursor;

export type ConversationPage = Schemas["ConversationPageView"];
export type TranscriptPage = Schemas["TranscriptPageView"];
export type ConversationMessage = Schemas["ConversationMessageView"];
export type TranscriptEntry = Schemas["TranscriptEntryView"];
type Stretch = ConversationPage | TranscriptPage;
type Stretches = InfiniteData<Stretch, Cursor>;
type Newer = (after: number) => Promise<Stretch>;

const OLDER = {
  initialPageParam: NEWEST,
  getPreviousPageParam: (page: Stretch): Cursor | undefined =>
    page.previous === null ? undefined : { before: page.previous },
  getNextPageParam: (): Cursor | undefined => undefined,
  staleTime: Infinity,
  refetchOnReconnect: false,
  refetchOnWindowFocus: false,
};

/** The thread with an entity of an agent, or, without one, with all of them. */
export function conversationQuery(agent: string, entity?: string) {
  const read = (cursor: Cursor, signal?: AbortSignal) =>
    take(
      api.GET("/agents/{agent}/conversation", {
        params: { path: { agent }, query: { ...cursor, entity, limit: PAGE } },
        signal: signal ?? null,
      }),
    );
  return infiniteQueryOptions({
    ...OLDER,
    queryKey: ofAgent(agent, "conversation", entity),
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    meta: { newer: ((after) => read({ after })) satisfies Newer },
  });
}

/** What an entity received, said and ran, in the current run or another one. */
export function transcriptQuery(agent: string, entity: string, run?: string) {
  const read = (cursor: Cursor, signal?: AbortSignal) =>
    take(
      api.GET("/agents/{agent}/transcript", {
        params: { path: { agent }, query: { ...cursor, entity, run, limit: PAGE } },
        signal: signal ?? null,
      }),
    );
  return infiniteQueryOptions({
    ...OLDER,
    queryKey: ofAgent(agent, "transcript", entity, run),
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    meta: { newer: ((after) => read({ after })) satisfies Newer },
  });
}

/** `messages`: oldest first. `fetchPreviousPage` adds older ones; newer ones come by themselves. */
export function useConversation(agent: string, entity?: string) {
  const options = conversationQuery(agent, entity);
  const query = useInfiniteQuery(options);
  useCatchUp(options.queryKey);
  const messages = useMemo(() => query.data?.pages.flatMap((page) => page.messages) ?? [], [query.data]);
  return { ...query, messages };
}

/**
 * `entries`: oldest first. `fetchPreviousPage` adds older ones; newer ones come by themselves.
 * Nothing is asked for unless it `isWanted`.
 */
export function useTranscript(agent: string, entity: string, run?: string, isWanted = true) {
  const options = transcriptQuery(agent, entity, run);
  const query = useInfiniteQuery({ ...options, enabled: isWanted });
  useCatchUp(options.queryKey);
  const entries = useMemo(() => query.data?.pages.flatMap((page) => page.entries) ?? [], [query.data]);
  return { ...query, entries };
}

/** Get what has come since one was last here. */
function useCatchUp(key: QueryKey): void {
  const client = useQueryClient();
  const name = JSON.stringify(key);
  useEffect(() => void catchUp(client, JSON.parse(name) as QueryKey), [client, name]);
}

// --- newer ones ---

/** Return the stretches with what came after them; what is there already is not added again. */
export function withNewer(known: Stretches, newer: Stretch): Stretches {
  const last = known.pages.at(-1);
  if (!last) return known;
  const pages = known.pages.slice(0, -1);
  const next = Math.max(last.next, newer.next);
  if ("messages" in last && "messages" in newer) {
    const messages = newer.messages.filter((message) => message.seq > last.next);
    pages.push({ ...last, next, messages: [...last.messages, ...messages] });
  } else if ("entries" in last && "entries" in newer) {
    const entries = newer.entries.filter((entry) => entry.seq > last.next);
    pages.push({ ...last, next, entries: [...last.entries, ...entries] });
  }
  return { ...known, pages };
}

const size = (stretch: Stretch) =>
  "messages" in stretch ? stretch.messages.length : stretch.entries.length;

const running = new Map<string, { again: boolean }>();

/** Add to conversations and transcripts below a key what they lack, on screen or about to be. */
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
  if (size(stretch)) {
    client.setQueryData<Stretches>(query.queryKey, (known) => known && withNewer(known, stretch));
  }
  return size(stretch) >= PAGE;
}

async function settled(query: Query): Promise<void> {
  if (query.state.fetchStatus === "fetching") await query.promise?.catch(() => undefined);
}

/** Have everything below a key asked for again, and conversations extended. */
export async function refresh(client: QueryClient, key: QueryKey): Promise<void> {
  const asked = client.invalidateQueries({
    queryKey: key,
    predicate: (query) => query.meta?.["newer"] === undefined,
  });
  await Promise.all([asked, catchUp(client, key)]);
}
