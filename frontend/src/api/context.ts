// The context database: what earlier work has taught, looked for, shown and removed.
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";

import { type ActionOptions, useAction } from "./actions";
import { api, keyed, type Schemas, take } from "./client";
import { ofHome } from "./keys";
import { readEvents } from "./system";

export type ContextNode = Schemas["ContextNode"];
export type ContextNeighbor = Schemas["ContextNeighbor"];
export type ContextKind = ContextNode["kind"];

export const CONTEXT_KINDS: readonly ContextKind[] = [
  "task",
  "mistake",
  "decision",
  "pattern",
  "preference",
  "code_snippet",
  "conversation",
  "project",
  "file",
];
const PAGE = 50;
const EVERY = 15_000;

/** The nodes that were changed last, page by page. */
export const useContextNodes = (kind: ContextKind | "") =>
  useInfiniteQuery({
    queryKey: ofHome("context", "nodes", kind),
    queryFn: ({ signal, pageParam }) =>
      take(
        api.GET("/context", {
          params: { query: { kind: kind ? [kind] : [], after: pageParam, limit: PAGE } },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
    refetchInterval: EVERY,
  });

export const useContextSearch = (query: string, kind: ContextKind | "") =>
  useQuery({
    queryKey: ofHome("context", "search", query, kind),
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      take(
        api.POST("/context/search", {
          body: { query, kinds: kind ? [kind] : [], project: "", limit: PAGE },
          signal,
        }),
      ),
  });

export const useContextNode = (node: string) =>
  useQuery({
    queryKey: ofHome("context", "node", node),
    retry: false,
    queryFn: ({ signal }) =>
      take(api.GET("/context/nodes/{node}", { params: { path: { node } }, signal })),
  });

export const useContextStats = () =>
  useQuery({
    queryKey: ofHome("context", "stats"),
    queryFn: ({ signal }) => take(api.GET("/context/stats", { signal })),
    refetchInterval: EVERY,
  });

export const useRemoveContextNode = (options?: ActionOptions<Schemas["ForgottenView"]>) =>
  useAction(
    (node: string, key) =>
      take(
        api.DELETE("/context/nodes/{node}", { params: { path: { node }, header: keyed(key) } }),
      ),
    () => [ofHome("context")],
    options,
  );

export type Pruned = Schemas["ContextPrunedView"];

/** Remove what is old and worth little; with `dry_run` only say what would be. */
export const usePruneContext = (options?: ActionOptions<Pruned>) =>
  useAction(
    (body: Schemas["PruneContextRequest"], key) =>
      take(api.POST("/context/prune", { body, params: { header: keyed(key) } })),
    () => [ofHome("context")],
    options,
  );

export type RememberedKind = Schemas["AddContextRequest"]["kind"];

/** The kinds of which a person writes down nodes. */
export const ADDED_KINDS: readonly RememberedKind[] = ["preference", "decision", "mistake", "pattern", "code_snippet"];

export const useAddContextNode = (options?: ActionOptions<Schemas["ContextNodeView"]>) =>
  useAction(
    (body: Schemas["AddContextRequest"], key) =>
      take(api.POST("/context", { body, params: { header: keyed(key) } })),
    () => [ofHome("context")],
    options,
  );

/** A note of earlier work that entered the prompts of a run. */
export interface UsedNote {
  run: string;
  id: string;
  kind: ContextKind;
  title: string;
  why: string;
}

const EVENTS = 500;

/** The notes of earlier work that entered an agent's prompts, the last run first. */
export const useUsedNotes = (agent: string) =>
  useQuery({
    queryKey: ofHome("context", "used", agent),
    queryFn: async ({ signal }) => {
      const found: UsedNote[] = [];
      for (let after = 0; ; ) {
        // oxlint-disable-next-line no-await-in-loop -- each page begins where the one before ended
        const page = await readEvents(agent, { after }, EVENTS, { type: ["context.used"] }, signal);
        const notes = page.events.map(({ run_id, data }) => notesOf(String(run_id), data["notes"]));
        found.unshift(...notes.toReversed().flat());
        if (page.next <= after) return found;
        after = page.next;
      }
    },
  });

const notesOf = (run: string, notes: unknown): UsedNote[] =>
  Array.isArray(notes) ? notes.map((note: Omit<UsedNote, "run">) => ({ ...note, run })) : [];

/** Have the home write down what a project's folder is made of. */
export const useScanProject = (options?: ActionOptions<Schemas["ProjectScanView"]>) =>
  useAction(
    (path: string, key) =>
      take(api.POST("/context/scan", { body: { path }, params: { header: keyed(key) } })),
    () => [ofHome("context")],
    options,
  );

/** Where the nodes of a kind, or all, and their edges are downloaded as lines of JSON. */
export const exportUrl = (kind: ContextKind | ""): string =>
  `/context/export${kind ? `?${new URLSearchParams({ kind })}` : ""}`;

/** Where the nodes of a kind, or all, are downloaded as an Obsidian vault. */
export const vaultUrl = (kind: ContextKind | ""): string =>
  `/context/obsidian${kind ? `?${new URLSearchParams({ kind })}` : ""}`;
