// The settings files, what the doctor says, and what a trigger would do: asked for and changed.
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { type ActionOptions, useAction } from "./actions";
import { api, keyed, type Schemas, take } from "./client";
import { ofAgent, ofHome } from "./keys";

export type SettingsFile = Schemas["SettingsFileView"];
export type SettingsContent = Schemas["SettingsContentView"];
export type Setting = Schemas["SettingView"];
export type SettingsProblem = Schemas["SettingsProblemView"];
export type SettingsCheck = Schemas["SettingsCheckView"];
export type SettingsEdit = Schemas["EditSettingsRequest"];
export type SettingChange = Schemas["SettingChange"];

const KEPT_SECONDS = 15;

export const useSettingsFiles = () =>
  useQuery({
    queryKey: ofHome("settings", "list"),
    queryFn: ({ signal }) => take(api.GET("/settings", { signal })),
  });

export const useSettingsFile = (file: string) =>
  useQuery({
    queryKey: ofHome("settings", "file", file),
    queryFn: ({ signal }) =>
      take(api.GET("/settings/{file}", { params: { path: { file } }, signal })),
    refetchOnWindowFocus: true,
  });

/** What a change would make of a file as it is now (`etag`); null asks nothing. */
export const useSettingsCheck = (file: string, etag: string, edit: SettingsEdit | null) =>
  useQuery({
    queryKey: ofHome("settings", "check", file, etag, edit),
    enabled: edit !== null,
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: ({ signal }) =>
      take(
        api.POST("/settings/{file}/check", {
          params: { path: { file } },
          body: edit ?? { changes: [] },
          signal,
        }),
      ),
  });

interface Save {
  file: string;
  etag: string;
  edit: SettingsEdit;
}

export const useSaveSettings = (options?: ActionOptions<Schemas["SavedSettingsView"]>) =>
  useAction(
    ({ file, etag, edit }: Save, key) =>
      take(
        api.PUT("/settings/{file}", {
          params: { path: { file }, header: { "if-match": `"${etag}"`, ...keyed(key) } },
          body: edit,
        }),
      ),
    () => [ofHome("settings")],
    options,
  );

export const useDoctor = () =>
  useQuery({
    queryKey: ofHome("doctor"),
    queryFn: ({ signal }) => take(api.GET("/doctor", { signal })),
    staleTime: KEPT_SECONDS * 1000,
  });

/** Have everything checked again. */
export const askDoctor = () => take(api.GET("/doctor", { params: { query: { afresh: true } } }));

export type TriggerWanted = Schemas["CreateTriggerRequest"];

/** The trigger as it would be made, and when it would fire first; null asks nothing. */
export const useTriggerPlan = (agent: string, wanted: TriggerWanted | null) =>
  useQuery({
    queryKey: ofAgent(agent, "triggers", "plan", wanted),
    enabled: wanted !== null,
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: ({ signal }) =>
      take(
        api.POST("/agents/{agent}/triggers/check", {
          params: { path: { agent } },
          body: wanted ?? { type: "delayed", config: {}, action: "" },
          signal,
        }),
      ),
  });

// --- what a person does about the home ---

export const useRetryDeadLetter = (options?: ActionOptions<Schemas["DeadLetterView"]>) =>
  useAction(
    (letter: string, key) =>
      take(
        api.POST("/dead/{letter}/retry", { params: { path: { letter }, header: keyed(key) } }),
      ),
    () => [ofHome("dead"), ofHome("entities")],
    options,
  );

export const useRetryDelivery = (options?: ActionOptions<Schemas["DeliveryView"]>) =>
  useAction(
    (delivery: string, key) =>
      take(
        api.POST("/deliveries/{delivery}/retry", {
          params: { path: { delivery }, header: keyed(key) },
        }),
      ),
    () => [ofHome("deliveries"), ofHome("channels")],
    options,
  );

export const useTestChannel = (options?: ActionOptions<Schemas["ChannelTestView"]>) =>
  useAction(
    (channel: string, key) =>
      take(
        api.POST("/channels/{channel}/test", {
          params: { path: { channel }, header: keyed(key) },
        }),
      ),
    () => [ofHome("channels")],
    options,
  );

/** Have every MCP server say what it offers; starts those that do not run. */
export const askServers = () => take(api.GET("/servers", { params: { query: { afresh: true } } }));

// --- events by pages ---

export interface EventsWanted {
  type: string[];
  entity?: string;
  node?: string;
}

export const readEvents = (
  agent: string,
  cursor: { after: number } | { before: number },
  limit: number,
  wanted: EventsWanted,
  signal?: AbortSignal,
) =>
  take(
    api.GET("/agents/{agent}/events", {
      params: { path: { agent }, query: { ...cursor, limit, ...wanted } },
      signal: signal ?? null,
    }),
  ) as Promise<Schemas["EventPageView"]>;
