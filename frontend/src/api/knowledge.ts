// The knowledge database: what earlier work has taught, looked for, shown and removed.
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";

import { type ActionOptions, useAction } from "./actions";
import { api, keyed, type Schemas, take } from "./client";
import { ofHome } from "./keys";
import { readEvents } from "./system";

export type KnowledgeNode = Schemas["KnowledgeNode"];
export type KnowledgeNeighbor = Schemas["KnowledgeNeighbor"];
export type KnowledgeKind = KnowledgeNode["kind"];

export const KNOWLEDGE_KINDS: readonly KnowledgeKind[] = [
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
export const useKnowledgeNodes = (kind: KnowledgeKind | "") =>
  useInfiniteQuery({
    queryKey: ofHome("knowledge", "nodes", kind),
    queryFn: ({ signal, pageParam }) =>
      take(
        api.GET("/knowledge", {
          params: { query: { kind: kind ? [kind] : [], after: pageParam, limit: PAGE } },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
    refetchInterval: EVERY,
  });

export const useKnowledgeSearch = (query: string, kind: KnowledgeKind | "") =>
  useQuery({
    queryKey: ofHome("knowledge", "search", query, kind),
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      take(
        api.POST("/knowledge/search", {
          body: { query, kinds: kind ? [kind] : [], project: "", limit: PAGE },
          signal,
        }),
      ),
  });

export const useKnowledgeNode = (node: string) =>
  useQuery({
    queryKey: ofHome("knowledge", "node", node),
    retry: false,
    queryFn: ({ signal }) =>
      take(api.GET("/knowledge/nodes/{node}", { params: { path: { node } }, signal })),
  });

export const useKnowledgeStats = () =>
  useQuery({
    queryKey: ofHome("knowledge", "stats"),
    queryFn: ({ signal }) => take(api.GET("/knowledge/stats", { signal })),
    refetchInterval: EVERY,
  });

export const useRemoveKnowledgeNode = (options?: ActionOptions<Schemas["ForgottenView"]>) =>
  useAction(
    (node: string, key) =>
      take(
        api.DELETE("/knowledge/nodes/{node}", { params: { path: { node }, header: keyed(key) } }),
      ),
    () => [ofHome("knowledge")],
    options,
  );

export type Pruned = Schemas["KnowledgePrunedView"];

/** Remove what is old and worth little; with `dry_run` only say what would be. */
export const usePruneKnowledge = (options?: ActionOptions<Pruned>) =>
  useAction(
    (body: Schemas["PruneKnowledgeRequest"], key) =>
      take(api.POST("/knowledge/prune", { body, params: { header: keyed(key) } })),
    () => [ofHome("knowledge")],
    options,
  );

export type RememberedKind = Schemas["AddKnowledgeRequest"]["kind"];

/** The kinds of which a person writes down nodes. */
export const ADDED_KINDS: readonly RememberedKind[] = ["preference", "decision", "mistake", "pattern", "code_snippet"];

export const useAddKnowledgeNode = (options?: ActionOptions<Schemas["KnowledgeNodeView"]>) =>
  useAction(
    (body: Schemas["AddKnowledgeRequest"], key) =>
      take(api.POST("/knowledge", { body, params: { header: keyed(key) } })),
    () => [ofHome("knowledge")],
    options,
  );

/** A note of earlier work that entered the prompts of a run. */
export interface UsedNote {
  run: string;
  id: string;
  kind: KnowledgeKind;
  title: string;
  why: string;
}

const EVENTS = 500;

/** The notes of earlier work that entered an agent's prompts, the last run first. */
export const useUsedNotes = (agent: string) =>
  useQuery({
    queryKey: ofHome("knowledge", "used", agent),
    queryFn: async ({ signal }) => {
      const found: UsedNote[] = [];
      for (let after = 0; ; ) {
        // oxlint-disable-next-line no-await-in-loop -- each page begins where the one before ended
        const page = await readEvents(agent, { after }, EVENTS, { type: ["knowledge.used"] }, signal);
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
      take(api.POST("/knowledge/scan", { body: { path }, params: { header: keyed(key) } })),
    () => [ofHome("knowledge")],
    options,
  );

/** Where the nodes of a kind, or all, and their edges are downloaded as lines of JSON. */
export const exportUrl = (kind: KnowledgeKind | ""): string =>
  `/knowledge/export${kind ? `?${new URLSearchParams({ kind })}` : ""}`;

/** Where the nodes of a kind, or all, are downloaded as an Obsidian vault. */
export const vaultUrl = (kind: KnowledgeKind | ""): string =>
  `/knowledge/obsidian${kind ? `?${new URLSearchParams({ kind })}` : ""}`;
