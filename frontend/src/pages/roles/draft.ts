// The forms of the Studio: a task and its terms, and the roles of the team; what they stand for. Pure.
import type { Schemas } from "~/api/client";
import type { RoleTeam, RolesSection } from "~/api/roles";

// --- a task ---

export interface TaskDraft {
  task: string;
  folder: string;
  model: string;
  maxTurns: string;
  isOffline: boolean;
  followsUp: boolean;
}

export const BLANK: TaskDraft = {
  task: "",
  folder: "",
  model: "",
  maxTurns: "",
  isOffline: false,
  followsUp: true,
};

export const MOST_TURNS = 200;

/** Whether a field of turns holds a number that is possible; nothing in it is one, too. */
export const isTurns = (text: string): boolean =>
  text.trim() === "" || (/^\d+$/.test(text.trim()) && Number(text) >= 1 && Number(text) <= MOST_TURNS);

/** Return the request that a task stands for; what is blank is left to the team and the settings. */
export function taskOf(
  draft: TaskDraft,
  earlier: Schemas["EarlierTask"][] = [],
): Schemas["StartRunRequest"] {
  const text = (value: string) => value.trim() || null;
  const turns = isTurns(draft.maxTurns) ? text(draft.maxTurns) : null;
  return {
    goal: draft.task.trim(),
    input: text(draft.folder),
    model: text(draft.model),
    roles: {
      max_turns: turns === null ? null : Number(turns),
      offline: draft.isOffline,
      earlier: draft.followsUp ? earlier : [],
    },
  };
}

const KEPT_AS = "agiraph.roles-task";

export function keptTask(): TaskDraft {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEPT_AS) ?? "{}") as Partial<TaskDraft>;
    return { ...BLANK, ...kept };
  } catch {
    return BLANK;
  }
}

export const keepTask = (draft: TaskDraft): void => sessionStorage.setItem(KEPT_AS, JSON.stringify(draft));

// --- the roles ---

export interface RoleDraft {
  name: string;
  title: string;
  agent: string;
  fallback: string;
  responsibilities: string;
  mayWrite: boolean;
  /** Every team has it: it can be bound anew, and not be removed. */
  isDefault: boolean;
}

export interface RolesDraft {
  lead: string;
  maxTurns: string;
  repetitions: string;
  transcriptTurns: string;
  roles: RoleDraft[];
}

export const MOST_ROLES = 24;
const NAME = /^[a-z][a-z0-9_-]{0,31}$/;

export const newRole = (name: string, isDefault = false): RoleDraft => ({
  name,
  isDefault,
  title: "",
  agent: "",
  fallback: "",
  responsibilities: "",
  mayWrite: false,
});

/** What is wrong with the name of a role that is to be added. */
export function nameProblem(name: string, draft: RolesDraft): "taken" | "malformed" | "full" | null {
  if (draft.roles.length >= MOST_ROLES) return "full";
  if (!NAME.test(name) || name === "user") return "malformed";
  return draft.roles.some((role) => role.name === name) ? "taken" : null;
}

export const draftOf = (team: RoleTeam): RolesDraft => ({
  lead: team.lead_role,
  maxTurns: String(team.max_turns),
  repetitions: String(team.repetitions),
  transcriptTurns: String(team.transcript_turns),
  roles: team.roles.map((role) => ({
    name: role.name,
    title: role.title,
    agent: role.agent,
    fallback: role.fallback,
    responsibilities: role.responsibilities,
    mayWrite: role.may_write,
    isDefault: role.is_default,
  })),
});

/**
 * Return the section of agents.yaml: what is blank is as by default; a number that is none stays as
 * it is, for the check to refuse.
 */
export const sectionOf = (draft: RolesDraft): RolesSection => ({
  lead_role: draft.lead,
  max_turns: numberOf(draft.maxTurns),
  repetitions: numberOf(draft.repetitions),
  transcript_turns: numberOf(draft.transcriptTurns),
  roles: Object.fromEntries(
    draft.roles.map(({ name, mayWrite, title, agent, fallback, responsibilities }) => [
      name,
      { ...said({ title, agent, fallback, responsibilities }), may_write: mayWrite },
    ]),
  ),
});

const said = (texts: Record<string, string>) =>
  Object.fromEntries(Object.entries(texts).flatMap(([key, text]) => (text.trim() ? [[key, text.trim()]] : [])));

const numberOf = (text: string): number | string =>
  /^\d+$/.test(text.trim()) ? Number(text) : text.trim();

export const isSame = (one: RolesDraft, other: RolesDraft): boolean =>
  JSON.stringify(sectionOf(one)) === JSON.stringify(sectionOf(other));

const PLACED = /^agentic_team\.([^:]+): (.*)$/s;
const OF_ROLE = /^role '([^']+)': (.*)$/s;

/** What is wrong, by the field it is about: `max_turns`, `roles.qa_engineer.agent`; '' for all else. */
export function problemsByField(problems: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  const add = (field: string, detail: string) =>
    found.set(field, [found.get(field), detail].filter(Boolean).join(" "));
  for (const problem of problems) {
    const placed = PLACED.exec(problem);
    const ofRole = OF_ROLE.exec(problem);
    if (ofRole) add(`roles.${ofRole[1]}.agent`, ofRole[2] ?? "");
    else if (placed) add(placed[1] ?? "", placed[2] ?? "");
    else add(problem.includes("agentic_team.lead_role") ? "lead_role" : "", problem);
  }
  return found;
}
