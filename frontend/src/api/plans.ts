// Plan files: checked and drawn by the gateway; the plan of a run.
import { keepPreviousData, useQuery } from "@tanstack/react-query";

import { ApiError, api, type Schemas, take } from "./client";
import { ofAgent, ofHome } from "./keys";

export type PlanForm = Schemas["PlanCheckView"]["form"];
export type PlanCheck = Schemas["PlanCheckView"];

/** Return a plan in a form; ApiError with each mistake of it, line by line. */
export const planIn = (plan: string, form: PlanForm, signal?: AbortSignal): Promise<PlanCheck> =>
  take(api.POST("/plans/check", { body: { plan, form }, signal: signal ?? null })) as Promise<PlanCheck>;

/** A plan as a picture, or its mistakes as the error; nothing is asked for an empty text. */
export const useDrawnPlan = (plan: string) =>
  useQuery({
    queryKey: ofHome("plans", plan),
    enabled: plan.trim() !== "",
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: ({ signal }) => planIn(plan, "svg", signal),
  });

/** What a run did as a plan file that can be run again; null if it has no nodes. */
export const usePlanOfRun = (agent: string, run?: string) =>
  useQuery({
    queryKey: ofAgent(agent, "board", "plan", run),
    enabled: agent !== "",
    retry: false,
    queryFn: async ({ signal }) => {
      const asked = { params: { path: { agent }, query: { run } }, signal };
      try {
        const plan = await take(api.GET("/agents/{agent}/plan", asked));
        return (await planIn(JSON.stringify(plan), "yaml", signal)).text;
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
  });
