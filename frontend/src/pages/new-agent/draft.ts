// What is typed into the form of a new agent, and the request that it stands for. Pure.
import type { Schemas } from "~/api/client";

export interface Draft {
  goal: string;
  name: string;
  input: string;
  model: string;
  workerModel: string;
  mode: "finite" | "infinite";
  cycleMinutes: string;
  usd: string;
  tokens: string;
  whenSpent: "" | "ask" | "stop";
  notes: "" | "project" | "all" | "none";
  plan: string;
  planName: string;
  /** When the nodes are planned; '': as the settings say. */
  planning: "" | "dynamic" | "static" | "hybrid";
  isPlanOnly: boolean;
  isRecorded: boolean;
}

export const BLANK: Draft = {
  goal: "",
  name: "",
  input: "",
  model: "",
  workerModel: "",
  mode: "finite",
  cycleMinutes: "",
  usd: "",
  tokens: "",
  whenSpent: "",
  notes: "",
  plan: "",
  planName: "",
  planning: "",
  isPlanOnly: false,
  isRecorded: false,
};

export type NumberField = "usd" | "tokens" | "cycleMinutes";

const number = (text: string): number => Number(text.replace(/[\s,_]/g, ""));

/** Return the fields of numbers that hold none. */
export function notNumbers(draft: Draft): NumberField[] {
  const fields: NumberField[] = ["usd", "tokens", "cycleMinutes"];
  return fields.filter((field) => {
    if (draft[field].trim() === "" || (field === "cycleMinutes" && draft.mode === "finite")) {
      return false;
    }
    const value = number(draft[field]);
    const isWhole = field !== "tokens" || Number.isInteger(value);
    return !(value > 0 && Number.isFinite(value) && isWhole);
  });
}

/** Return the request; what is blank, or no number, is left to the settings. */
export function requestOf(draft: Draft): Schemas["CreateAgentRequest"] {
  const wrong = new Set(notNumbers(draft));
  const text = (value: string) => (value.trim() ? { value: value.trim() } : null);
  const amount = (field: NumberField, factor = 1) =>
    draft[field].trim() && !wrong.has(field) ? { value: number(draft[field]) * factor } : null;
  const given = {
    name: text(draft.name),
    input: text(draft.input),
    model: text(draft.model),
    worker_model: text(draft.workerModel),
    plan: draft.plan.trim() ? { value: draft.plan } : null,
    budget_usd: amount("usd"),
    budget_tokens: amount("tokens"),
    when_spent: text(draft.whenSpent),
    planning: draft.plan.trim() ? null : text(draft.planning),
    plan_only: isMade(draft) && draft.isPlanOnly ? { value: true } : null,
    notes: text(draft.notes),
    cycle_seconds: draft.mode === "infinite" ? amount("cycleMinutes", 60) : null,
  };
  const named = Object.entries(given).flatMap(([key, one]) => (one ? [[key, one.value]] : []));
  return {
    goal: draft.goal.trim(),
    mode: draft.mode,
    record: draft.isRecorded,
    ...(Object.fromEntries(named) as Partial<Schemas["CreateAgentRequest"]>),
  };
}

/** Whether a model makes a whole plan before the work begins. */
export const isMade = ({ plan, planning }: Draft): boolean =>
  plan.trim() === "" && (planning === "static" || planning === "hybrid");

const KEPT_AS = "agiraph.new-agent";

export function keptDraft(): Draft {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEPT_AS) ?? "{}") as Partial<Draft>;
    return { ...BLANK, ...kept };
  } catch {
    return BLANK;
  }
}

export const keepDraft = (draft: Draft): void =>
  sessionStorage.setItem(KEPT_AS, JSON.stringify(draft));

export interface ModelChoice {
  name: string;
  isUsable: boolean;
}

/** Return the models that there are, those that can be called first. */
export function modelsOf(providers: readonly Record<string, unknown>[]): ModelChoice[] {
  const all = providers.flatMap((provider) => {
    const isUsable = provider["usable"] === true;
    const models = Array.isArray(provider["models"]) ? (provider["models"] as unknown[]) : [];
    const names = models.map((model) => (model as { name?: unknown }).name);
    return [provider["default_model"], ...names]
      .filter((name): name is string => typeof name === "string" && name !== "")
      .map((name) => ({ name, isUsable }));
  });
  const once = all.filter(({ name }, place) => all.findIndex((one) => one.name === name) === place);
  return once.toSorted((one, other) => Number(other.isUsable) - Number(one.isUsable));
}
