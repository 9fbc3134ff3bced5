// The memory of an agent: edited by a person, and the earlier texts of its files.
import { useQuery } from "@tanstack/react-query";

import { type ActionOptions, useAction } from "./actions";
import { api, keyed, type Schemas, take } from "./client";
import { ofAgent } from "./keys";

export type MemoryFile = Schemas["FileContentView"];
export type MemoryVersion = Schemas["MemoryVersionView"];

export const useMemoryHistory = (agent: string, path: string) =>
  useQuery({
    queryKey: ofAgent(agent, "memory", "history", path),
    queryFn: ({ signal }) =>
      take(
        api.GET("/agents/{agent}/memory/{path}/history", {
          params: { path: { agent, path } },
          signal,
        }),
      ),
  });

export const useMemoryVersion = (agent: string, path: string, number: number) =>
  useQuery({
    queryKey: ofAgent(agent, "memory", "version", path, number),
    staleTime: Infinity,
    queryFn: ({ signal }) =>
      take(
        api.GET("/agents/{agent}/memory/{path}/history/{number}", {
          params: { path: { agent, path, number } },
          signal,
        }),
      ),
  });

export interface MemoryEdit {
  path: string;
  content: string;
  /** Of the text that was read; "" if there was none: the file shall be a new one. */
  etag: string;
  tell: boolean;
}

/** Write a file; 412 if it is no longer the one that was read. */
export const useEditMemory = (agent: string, options?: ActionOptions<MemoryFile>) =>
  useAction(
    ({ path, content, etag, tell }: MemoryEdit, key) =>
      take(
        api.PUT("/agents/{agent}/memory/{path}", {
          body: { content, tell },
          params: {
            path: { agent, path },
            header: { ...keyed(key), ...(etag ? { "if-match": etag } : { "if-none-match": "*" }) },
          },
        }),
      ),
    () => [ofAgent(agent, "memory")],
    options,
  );

export const useRemoveMemory = (agent: string, options?: ActionOptions<MemoryFile>) =>
  useAction(
    ({ path, etag }: { path: string; etag: string }, key) =>
      take(
        api.DELETE("/agents/{agent}/memory/{path}", {
          params: { path: { agent, path }, header: { ...keyed(key), "if-match": etag } },
        }),
      ),
    () => [ofAgent(agent, "memory")],
    options,
  );
