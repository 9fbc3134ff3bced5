// What a run has delivered: its files, the checks of its nodes, all of it as a zip file.
import { useQuery } from "@tanstack/react-query";

import { api, escapePath, type Schemas, take } from "./client";
import { ofAgent } from "./keys";

export type DeliveredFile = Schemas["DeliveredFileView"];
export type NodeChecks = Schemas["NodeChecksView"];

export const useDelivered = (agent: string, run: string) =>
  useQuery({
    queryKey: ofAgent(agent, "files", "delivered", run),
    queryFn: ({ signal }) =>
      take(
        api.GET("/agents/{agent}/result", { params: { path: { agent }, query: { run } }, signal }),
      ) as Promise<Schemas["DeliveredView"]>,
  });

/** Where everything that a run has delivered is downloaded as a zip file. */
export const resultZipUrl = (agent: string, run: string): string =>
  `/agents/${escapePath(agent)}/result?${new URLSearchParams({ as: "zip", run })}`;
