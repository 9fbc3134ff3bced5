// What a person does: one hook for each endpoint that changes something.
//
// `act(input)` begins it. Its Idempotency-Key is made then and kept for every attempt, so that
// nothing is done twice; pressed again meanwhile it is the same. What went wrong is shown as a toast, unless the caller passes `onError`.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";

import { type ApiError, api, keyed, newKey, type Schemas, take } from "./client";
import { allOfAgent, ofAgent, ofHome, type QueryKey } from "./keys";
import { refresh } from "./stretches";

const ATTEMPTS = 4;

export interface ActionOptions<Output> {
  onSuccess?: (output: Output) => void;
  onError?: (error: ApiError) => void;
}

/** An action: `call` makes it, `concerns` says which answers it makes old. */
export function useAction<Input, Output>(
  call: (input: Input, key: string) => Promise<Output>,
  concerns: (input: Input) => QueryKey[],
  options: ActionOptions<Output> = {},
) {
  const client = useQueryClient();
  const mutation = useMutation<Output, ApiError, { input: Input; key: string }>({
    mutationFn: ({ input, key }) => call(input, key),
    retry: (failures, error) => failures < ATTEMPTS && error.isPassing,
    retryDelay: (failures, error) =>
      (error.retryAfterSeconds ?? Math.min(8, 0.5 * 2 ** failures)) * 1000,
    networkMode: "always",
    meta: { isQuiet: options.onError !== undefined },
    onSuccess: (output) => options.onSuccess?.(output),
    onError: (error) => options.onError?.(error),
    onSettled: (_output, _error, { input }) =>
      Promise.all(concerns(input).map((key) => refresh(client, key))).then(() => undefined),
  });
  const { mutate: _, mutateAsync, ...state } = mutation;
  // A second press of the same, before the first is done, is the first one.
  const underWay = useRef(new Map<string, Promise<Output>>());
  const actAsync = (input: Input): Promise<Output> => {
    const name = JSON.stringify(input) ?? "";
    const known = underWay.current.get(name);
    if (known) return known;
    const begun = mutateAsync({ input, key: newKey() }).finally(() => {
      underWay.current.delete(name);
    });
    underWay.current.set(name, begun);
    return begun;
  };
  const act = (input: Input): void => void actAsync(input).catch(() => undefined);
  return { ...state, act, actAsync };
}

const HOME_LISTS = [ofHome("agents"), ofHome("overview"), ofHome("entities")];
const steered = (agent: string) => [allOfAgent(agent), ...HOME_LISTS];

// --- agents and runs ---

type O<T> = ActionOptions<T>;
type Agent = Schemas["AgentView"];

export const useCreateAgent = (options?: O<Agent>) =>
  useAction(
    (body: Schemas["CreateAgentRequest"], key) =>
      take(api.POST("/agents", { body, params: { header: keyed(key) } })),
    () => HOME_LISTS,
    options,
  );

export const useBeginRun = (agent: string, options?: O<Agent>) =>
  useAction(
    (body: Schemas["StartRunRequest"], key) =>
      take(
        api.POST("/agents/{agent}/runs", {
          body,
          params: { path: { agent }, header: keyed(key) },
        }),
      ),
    () => steered(agent),
    options,
  );

export type AgentAct = "pause" | "resume" | "stop";

export const useSteerAgent = (agent: string, options?: O<Schemas["SteeredView"]>) =>
  useAction(
    (act: AgentAct, key) =>
      take(
        api.POST(`/agents/{agent}/${act}`, { params: { path: { agent }, header: keyed(key) } }),
      ),
    () => steered(agent),
    options,
  );

export type EntityAct = Schemas["SteeredView"]["act"];

/** One entity by its address (`agent/coordinator`), a service, or a whole agent. */
export const useSteerEntity = (options?: O<Schemas["SteeredView"]>) =>
  useAction(
    ({ entity, act }: { entity: string; act: EntityAct }, key) =>
      take(
        api.POST("/entities/{entity}/{act}", {
          params: { path: { entity, act }, header: keyed(key) },
        }),
      ),
    ({ entity }) => steered(entity.split("/", 1)[0] ?? entity),
    options,
  );

export const useArchiveAgent = (options?: O<Schemas["ArchivedView"]>) =>
  useAction(
    (agent: string, key) =>
      take(
        api.POST("/agents/{agent}/archive", { params: { path: { agent }, header: keyed(key) } }),
      ),
    () => [...HOME_LISTS, ofHome("archive")],
    options,
  );

export const useRestoreAgent = (options?: O<Agent>) =>
  useAction(
    (agent: string, key) =>
      take(
        api.POST("/archive/{agent}/restore", { params: { path: { agent }, header: keyed(key) } }),
      ),
    () => [...HOME_LISTS, ofHome("archive")],
    options,
  );

interface Deletion {
  agent: string;
  /** It is not in the archive yet: it is stopped and archived first. */
  isLive: boolean;
  /** What it taught is removed from the knowledge database too. */
  forget: boolean;
}

/** Delete an agent for good, with everything that it wrote. */
export const useDeleteAgent = (options?: O<Schemas["DeletedView"]>) =>
  useAction(
    async ({ agent, isLive, forget }: Deletion, key) => {
      if (isLive) {
        const first = { path: { agent }, header: keyed(`${key}-archive`) };
        await take(api.POST("/agents/{agent}/archive", { params: first }));
      }
      const params = { path: { agent }, query: { forget }, header: keyed(key) };
      return take(api.DELETE("/archive/{agent}", { params }));
    },
    () => [...HOME_LISTS, ofHome("archive"), ofHome("knowledge")],
    options,
  );

export const useRetryNode = (agent: string, options?: O<Schemas["NodeDetailView"]>) =>
  useAction(
    ({ node, because = "" }: { node: string; because?: string }, key) =>
      take(
        api.POST("/agents/{agent}/board/{node}/retry", {
          body: { because },
          params: { path: { agent, node }, header: keyed(key) },
        }),
      ),
    () => steered(agent),
    options,
  );

export const useCancelNode = (agent: string, options?: O<Schemas["NodeDetailView"]>) =>
  useAction(
    ({ node, because = "" }: { node: string; because?: string }, key) =>
      take(
        api.POST("/agents/{agent}/board/{node}/cancel", {
          body: { because },
          params: { path: { agent, node }, header: keyed(key) },
        }),
      ),
    () => steered(agent),
    options,
  );

/** Give a node to another worker, or to any with another model. */
export const useAssignNode = (agent: string, options?: O<Schemas["NodeDetailView"]>) =>
  useAction(
    ({ node, ...body }: { node: string } & Schemas["AssignNodeRequest"], key) =>
      take(
        api.POST("/agents/{agent}/board/{node}/assign", {
          body,
          params: { path: { agent, node }, header: keyed(key) },
        }),
      ),
    () => steered(agent),
    options,
  );

// --- talking ---

export const useSend = (agent: string, options?: O<Schemas["SentView"]>) =>
  useAction(
    (body: Schemas["SendTextRequest"], key) =>
      take(
        api.POST("/agents/{agent}/send", {
          body,
          params: { path: { agent }, header: keyed(key) },
        }),
      ),
    () => [ofHome("inbox")],
    options,
  );

export const useNudge = (agent: string, options?: O<Schemas["SentView"]>) =>
  useAction(
    (message: string, key) =>
      take(
        api.POST("/agents/{agent}/nudge", {
          body: { message },
          params: { path: { agent }, header: keyed(key) },
        }),
      ),
    () => [ofAgent(agent, "view")],
    options,
  );

/** The person has read what an entity wrote, up to `seq`, by default all of it. */
export const useMarkRead = (agent: string, options?: O<Schemas["InboxView"]>) =>
  useAction(
    (read: { entity: string; seq?: number }, key) =>
      take(
        api.POST("/agents/{agent}/read", {
          body: read,
          params: { path: { agent }, header: keyed(key) },
        }),
      ),
    () => [ofHome("inbox"), ...HOME_LISTS, ofAgent(agent, "view"), ofAgent(agent, "workers")],
    options,
  );

export const useAnswer = (options?: O<Schemas["QuestionView"]>) =>
  useAction(
    ({ id, answer }: { id: string; answer: string }, key) =>
      take(
        api.POST("/questions/{question_id}/respond", {
          body: { answer, via: "web" },
          params: { path: { question_id: id }, header: keyed(key) },
        }),
      ),
    () => [ofHome("questions"), ofHome("approvals"), ofHome("budgets"), ...HOME_LISTS],
    options,
  );

export const useRevokeApproval = (options?: O<Schemas["ApprovalView"]>) =>
  useAction(
    (approval: string, key) =>
      take(
        api.DELETE("/approvals/{approval}", {
          params: { path: { approval }, header: keyed(key) },
        }),
      ),
    () => [ofHome("approvals")],
    options,
  );

export const useSetPresence = (options?: O<Schemas["PresenceView"]>) =>
  useAction(
    (body: Schemas["SetPresenceRequest"], key) =>
      take(api.PUT("/me", { body, params: { header: keyed(key) } })),
    () => [ofHome("me")],
    options,
  );

// --- triggers and budgets ---

export const useAddTrigger = (agent: string, options?: O<Schemas["TriggerView"]>) =>
  useAction(
    (body: Schemas["CreateTriggerRequest"], key) =>
      take(
        api.POST("/agents/{agent}/triggers", {
          body,
          params: { path: { agent }, header: keyed(key) },
        }),
      ),
    () => [ofAgent(agent, "triggers")],
    options,
  );

export type TriggerAct = "pause" | "resume" | "fire";

export const useActOnTrigger = (agent: string, options?: O<Schemas["TriggerView"]>) =>
  useAction(
    ({ trigger, act }: { trigger: string; act: TriggerAct }, key) =>
      take(
        api.POST("/agents/{agent}/triggers/{trigger}/{act}", {
          params: { path: { agent, trigger, act }, header: keyed(key) },
        }),
      ),
    () => [ofAgent(agent, "triggers")],
    options,
  );

export const useCancelTrigger = (agent: string, options?: O<Schemas["TriggerView"]>) =>
  useAction(
    (trigger: string, key) =>
      take(
        api.DELETE("/agents/{agent}/triggers/{trigger}", {
          params: { path: { agent, trigger }, header: keyed(key) },
        }),
      ),
    () => [ofAgent(agent, "triggers")],
    options,
  );

export type Period = "total" | "day";

export interface SetBudget {
  period: Period;
  limits: Schemas["SetBudgetRequest"] | null;
  trigger?: string;
}

/** Set a budget of an agent, or of a trigger of it; `limits: null` returns to the settings' one. */
export const useSetBudget = (agent: string, options?: O<Schemas["BudgetView"]>) =>
  useAction(
    ({ period, limits, trigger }: SetBudget, key) => {
      const headers = keyed(key);
      const ofTrigger = { path: { agent, period, trigger: trigger ?? "" }, header: headers };
      const own = { path: { agent, period }, header: headers };
      const agentPath = "/agents/{agent}/budgets/{period}";
      const triggerPath = "/agents/{agent}/triggers/{trigger}/budgets/{period}";
      if (trigger === undefined) {
        return limits
          ? take(api.PATCH(agentPath, { body: limits, params: own }))
          : take(api.DELETE(agentPath, { params: own }));
      }
      return limits
        ? take(api.PATCH(triggerPath, { body: limits, params: ofTrigger }))
        : take(api.DELETE(triggerPath, { params: ofTrigger }));
    },
    () => [ofHome("budgets"), ofHome("usage"), ofAgent(agent, "usage")],
    options,
  );

// --- access ---

export const useLogOut = (options?: O<unknown>) =>
  useAction(
    (_: void, key) =>
      take(api.POST("/logout", { params: { header: keyed(key) }, parseAs: "text" })),
    () => [],
    options,
  );
