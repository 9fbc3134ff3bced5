// The files of a run: its folders, all names in it, its bytes.
import { keepPreviousData, queryOptions, useQueries, useQuery } from "@tanstack/react-query";

import { ApiError, api, rawUrl, type Schemas, take } from "./client";
import { ofAgent } from "./keys";
import { isFolder, type Listing } from "./queries";

export type FileEntry = Schemas["FileEntryView"];
export type FileContent = Schemas["FileContentView"];
export type Folder = Schemas["FolderView"];

/** How deep names are looked for. */
const DEPTH = 20;

export const placeQuery = (agent: string, path: string, run?: string, depth = 1) =>
  queryOptions({
    queryKey: ofAgent(agent, "files", "workspace", path, run, 0, depth),
    queryFn: ({ signal }) =>
      take(
        api.GET("/agents/{agent}/workspace", {
          params: { path: { agent }, query: { path, run, depth } },
          signal,
        }),
      ) as Promise<Listing>,
    placeholderData: keepPreviousData,
  });

/** A folder or a file of the run; of another place nothing is kept. */
export const usePlace = (agent: string, path: string, run?: string) =>
  useQuery({ ...placeQuery(agent, path, run), placeholderData: undefined });

/** These folders, each once it is there. */
export function useFolders(agent: string, paths: readonly string[], run?: string): Map<string, Folder> {
  return useQueries({
    queries: paths.map((path) => placeQuery(agent, path, run)),
    combine: (answers) => {
      const found = new Map<string, Folder>();
      for (const { data } of answers) if (data && isFolder(data)) found.set(data.path, data);
      return found;
    },
  });
}

/** Every name in the run, for as long as somebody looks for one. */
export const useAllNames = (agent: string, isWanted: boolean, run?: string) =>
  useQuery({ ...placeQuery(agent, "", run, DEPTH), enabled: isWanted });

/** The bytes of a file, to be shown by the browser itself. */
export const useBytes = (agent: string, file: FileContent, run?: string) =>
  useQuery({
    queryKey: ofAgent(agent, "files", "bytes", file.path, run, file.etag),
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      const answer = await fetch(rawUrl(agent, "workspace", file.path, run), { signal });
      if (!answer.ok) throw new ApiError({ status: answer.status, detail: answer.statusText });
      return new Blob([await answer.arrayBuffer()], { type: file.media_type });
    },
  });

/** Where a folder is downloaded as a zip file. */
export function zipUrl(agent: string, path: string, run?: string): string {
  return rawUrl(agent, "workspace", path, run).replace("as=raw", "as=zip").replace("/?", "?");
}
