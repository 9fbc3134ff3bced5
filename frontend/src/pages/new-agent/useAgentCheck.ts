// What the gateway says of a draft: asked for once one pauses typing; nothing is created by it.
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { api, take } from "~/api/client";
import { ofHome } from "~/api/keys";
import { useSettled } from "~/ui";
import { type Draft, requestOf } from "./draft";

const PAUSE_MILLISECONDS = 350;

export function useAgentCheck(draft: Draft) {
  const body = useSettled(JSON.stringify(requestOf(draft)), PAUSE_MILLISECONDS);
  return useQuery({
    queryKey: ofHome("models", "check", body),
    queryFn: ({ signal }) =>
      take(
        api.POST("/agents/check", {
          body: JSON.parse(body) as ReturnType<typeof requestOf>,
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    retry: false,
  });
}

export type AgentCheck = ReturnType<typeof useAgentCheck>;
