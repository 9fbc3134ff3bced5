// What is asked for: one hook for each endpoint that is read, with its key.
import {
  keepPreviousData,
  queryOptions,
  useInfiniteQuery,
  useQuery,
} from "@tanstack/react-query";

import { api, type Schemas, take } from "./client";
import { ofAgent, ofHome } from "./keys";

const PAGE = 100;
const SLOW = 60_000;

type Folder = Schemas["FolderView"];
type FileContent = Schemas["FileContentView"];
export type Listing = Folder | FileContent;
export const isFolder = (listing: Listing): listing is Folder => "entries" in listing;

// --- the home ---

export const agentsQuery = queryOptions({
  queryKey: ofHome("agents"),
  queryFn: ({ signal }) => take(api.GET("/agents", { signal })),
});
export const useAgents = () => useQuery(agentsQuery);

/** Every agent with its workers: what each does, has spent, and has to say to the person. */
export const overviewQuery = queryOptions({
  queryKey: ofHome("overview"),
  queryFn: ({ signal }) => take(api.GET("/overview", { signal })),
});
export const useOverview = () => useQuery(overviewQuery);

/** Every process: its state, what it does, its tokens and money. */
export const entitiesQuery = queryOptions({
  queryKey: ofHome("entities"),
  queryFn: ({ signal }) => take(api.GET("/entities", { signal })),
  refetchInterval: 10_000,
});
export const useEntities = () => useQuery(entitiesQuery);

export const inboxQuery = queryOptions({
  queryKey: ofHome("inbox"),
  queryFn: ({ signal }) => take(api.GET("/inbox", { signal })),
});
export const useInbox = () => useQuery(inboxQuery);

type QuestionStatus = Schemas["QuestionView"]["status"];

/** With null: those of any status. */
export const questionsQuery = (status: QuestionStatus | null = "open", limit = 1000) =>
  queryOptions({
    queryKey: ofHome("questions", status, limit),
    queryFn: ({ signal }) =>
      take(api.GET("/questions", { params: { query: { status, limit } }, signal })),
  });
export const useQuestions = (status?: QuestionStatus | null, limit?: number) =>
  useQuery(questionsQuery(status, limit));

export const useApprovals = (agent?: string) =>
  useQuery({
    queryKey: ofHome("approvals", agent),
    queryFn: ({ signal }) => take(api.GET("/approvals", { params: { query: { agent } }, signal })),
  });

export const useArchive = () =>
  useQuery({
    queryKey: ofHome("archive"),
    queryFn: ({ signal }) => take(api.GET("/archive", { signal })),
  });

export const useModels = () =>
  useQuery({
    queryKey: ofHome("models"),
    queryFn: ({ signal }) => take(api.GET("/models", { signal })),
    staleTime: SLOW,
  });

export const useHealth = () =>
  useQuery({
    queryKey: ofHome("health"),
    queryFn: ({ signal }) => take(api.GET("/health", { signal })),
    refetchInterval: 15_000,
  });

export const useServers = () =>
  useQuery({
    queryKey: ofHome("servers"),
    queryFn: ({ signal }) => take(api.GET("/servers", { signal })),
    staleTime: SLOW,
  });

export const useDeadLetters = () =>
  useQuery({ queryKey: ofHome("dead"), queryFn: ({ signal }) => take(api.GET("/dead", { signal })) });

export const useChannels = () =>
  useQuery({
    queryKey: ofHome("channels"),
    queryFn: ({ signal }) => take(api.GET("/channels", { signal })),
  });

export const useDeliveries = () =>
  useQuery({
    queryKey: ofHome("deliveries"),
    queryFn: ({ signal }) => take(api.GET("/deliveries", { signal })),
  });

export const usePresence = () =>
  useQuery({ queryKey: ofHome("me"), queryFn: ({ signal }) => take(api.GET("/me", { signal })) });

// --- money ---

export type UsageBy = Schemas["UsageView"]["by"];
export interface UsageFilter {
  agent?: string;
  run?: string;
  by?: UsageBy;
}

export const useUsage = (filter: UsageFilter = {}) =>
  useQuery({
    queryKey: filter.agent ? ofAgent(filter.agent, "usage", filter) : ofHome("usage", filter),
    queryFn: ({ signal }) => take(api.GET("/usage", { params: { query: { ...filter } }, signal })),
    placeholderData: keepPreviousData,
  });

export const useBudgets = (agent?: string) =>
  useQuery({
    queryKey: ofHome("budgets", agent),
    queryFn: ({ signal }) => take(api.GET("/budgets", { params: { query: { agent } }, signal })),
  });

// --- one agent ---

export const agentQuery = (agent: string) =>
  queryOptions({
    queryKey: ofAgent(agent, "view"),
    queryFn: ({ signal }) =>
      take(api.GET("/agents/{agent}", { params: { path: { agent } }, signal })),
  });
export const useAgent = (agent: string) => useQuery(agentQuery(agent));

export const useRuns = (agent: string) =>
  useQuery({
    queryKey: ofAgent(agent, "runs"),
    queryFn: ({ signal }) =>
      take(api.GET("/agents/{agent}/runs", { params: { path: { agent } }, signal })),
  });

export const workersQuery = (agent: string, run?: string) =>
  queryOptions({
    queryKey: ofAgent(agent, "workers", run),
    queryFn: ({ signal }) =>
      take(
        api.GET("/agents/{agent}/workers", { params: { path: { agent }, query: { run } }, signal }),
      ),
  });
export const useWorkers = (agent: string, run?: string) => useQuery(workersQuery(agent, run));

export const useTriggers = (agent: string) =>
  useQuery({
    queryKey: ofAgent(agent, "triggers"),
    queryFn: ({ signal }) =>
      take(api.GET("/agents/{agent}/triggers", { params: { path: { agent } }, signal })),
  });

// --- the board and its nodes ---

export const useBoard = (agent: string, about: { run?: string; at?: number } = {}) =>
  useQuery({
    queryKey: ofAgent(agent, "board", "all", about),
    queryFn: ({ signal }) =>
      take(
        api.GET("/agents/{agent}/board", {
          params: { path: { agent }, query: { ...about } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const useNode = (agent: string, node: string, run?: string) =>
  useQuery({
    queryKey: ofAgent(agent, "board", "node", node, run),
    queryFn: ({ signal }) =>
      take(
        api.GET("/agents/{agent}/board/{node}", {
          params: { path: { agent, node }, query: { run } },
          signal,
        }),
      ),
  });

export const useNodeRefs = (agent: string, node: string, run?: string) =>
  useQuery({
    queryKey: ofAgent(agent, "board", "refs", node, run),
    queryFn: ({ signal }) =>
      take(
        api.GET("/agents/{agent}/board/{node}/refs", {
          params: { path: { agent, node }, query: { run } },
          signal,
        }),
      ),
  });

/** The log of a node, oldest first; pages follow by `fetchNextPage`. */
export const useNodeLog = (agent: string, node: string, run?: string) =>
  useInfiniteQuery({
    queryKey: ofAgent(agent, "log", node, run),
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      take(
        api.GET("/agents/{agent}/board/{node}/log", {
          params: { path: { agent, node }, query: { after: pageParam, limit: PAGE, run } },
          signal,
        }),
      ),
    getNextPageParam: (page) => (page.events.length ? page.next : undefined),
  });

export type NodePlace = "scratch" | "published";

export interface NodeFilesOptions {
  run?: string;
  /** One of the node's `earlier_attempts`, of what was published. */
  attempt?: number;
  /** How many levels of a folder are listed. */
  depth?: number;
  isWanted?: boolean;
}

/** A folder of a node, or a file of it. */
export const useNodeFiles = (
  agent: string,
  node: string,
  place: NodePlace,
  path = "",
  { isWanted = true, ...about }: NodeFilesOptions = {},
) =>
  useQuery({
    queryKey: ofAgent(agent, "files", "node", node, place, path, about),
    enabled: isWanted,
    queryFn: ({ signal }) =>
      take(
        api.GET(`/agents/{agent}/board/{node}/${place}`, {
          params: { path: { agent, node }, query: { path, ...about } },
          signal,
        }),
      ) as Promise<Listing>,
  });

export const useNodeSpec = (agent: string, node: string, run?: string) =>
  useQuery({
    queryKey: ofAgent(agent, "board", "spec", node, run),
    queryFn: ({ signal }) =>
      take(
        api.GET("/agents/{agent}/board/{node}/spec", {
          params: { path: { agent, node }, query: { run } },
          signal,
        }),
      ) as Promise<FileContent>,
  });

// --- files and memory ---

/** A folder of the run, or a file of it from `offset` on. */
export const useWorkspace = (agent: string, path = "", run?: string, offset = 0) =>
  useQuery({
    queryKey: ofAgent(agent, "files", "workspace", path, run, offset),
    queryFn: ({ signal }) =>
      take(
        api.GET("/agents/{agent}/workspace", {
          params: { path: { agent }, query: { path, run, offset } },
          signal,
        }),
      ) as Promise<Listing>,
  });

export const useMemory = (agent: string) =>
  useQuery({
    queryKey: ofAgent(agent, "memory", "list"),
    queryFn: ({ signal }) =>
      take(api.GET("/agents/{agent}/memory", { params: { path: { agent } }, signal })),
  });

export const useMemoryFile = (agent: string, path: string) =>
  useQuery({
    queryKey: ofAgent(agent, "memory", "file", path),
    enabled: path !== "",
    queryFn: ({ signal }) =>
      take(
        api.GET("/agents/{agent}/memory/{path}", { params: { path: { agent, path } }, signal }),
      ) as Promise<FileContent>,
  });

/** The sections of the memory that fit a query; none is asked for while it is empty. */
export const useMemorySearch = (agent: string, query: string) =>
  useQuery({
    queryKey: ofAgent(agent, "memory", "search", query),
    enabled: query.trim() !== "",
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      take(
        api.POST("/agents/{agent}/memory/search", {
          params: { path: { agent } },
          body: { query },
          signal,
        }),
      ),
  });
