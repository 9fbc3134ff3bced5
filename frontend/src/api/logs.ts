// The logs of the home's processes.
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { api, type Schemas, take } from "./client";
import { ofHome } from "./keys";

export type LogLine = Schemas["LogLineView"];
export type LogLevel = "debug" | "info" | "warning" | "error" | "critical";

export const LEVELS: readonly LogLevel[] = ["debug", "info", "warning", "error", "critical"];
const EVERY_MILLISECONDS = 2000;

/** The last lines of an entity's logs, of all for ''; with `follows` they are asked for again. */
export const useLogs = (entity: string, level: LogLevel, limit: number, follows: boolean) =>
  useQuery({
    queryKey: ofHome("logs", entity, level, limit),
    placeholderData: keepPreviousData,
    retry: false,
    refetchInterval: follows ? EVERY_MILLISECONDS : false,
    queryFn: ({ signal }) =>
      take(api.GET("/logs", { params: { query: { entity, level, limit } }, signal })),
  });
