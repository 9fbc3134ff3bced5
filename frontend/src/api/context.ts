// The context database: what earlier work has taught, looked for, shown and removed.
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";

import { type ActionOptions, useAction } from "./actions";
import { api, keyed, type Schemas, take } from "./client";
import { ofHome } from "./keys";

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
