// Under which keys answers are kept: what is of one agent lies below ["agent", id, thing].

export type AgentThing =
  | "view"
  | "runs"
  | "board"
  | "log"
  | "workers"
  | "thread"
  | "messages"
  | "files"
  | "memory"
  | "triggers"
  | "usage"
  | "events"
  | "timeline"
  | "traffic"
  | "roles";

export type HomeThing =
  | "agents"
  | "overview"
  | "entities"
  | "inbox"
  | "questions"
  | "approvals"
  | "knowledge"
  | "budgets"
  | "archive"
  | "models"
  | "health"
  | "servers"
  | "hosts"
  | "dead"
  | "usage"
  | "whoami"
  | "tokens"
  | "logins"
  | "audit"
  | "logs"
  | "all-runs"
  | "plans"
  | "channels"
  | "deliveries"
  | "settings"
  | "doctor"
  | "me";

export type QueryKey = readonly unknown[];

export const ofAgent = (agent: string, thing: AgentThing, ...more: unknown[]): QueryKey => [
  "agent",
  agent,
  thing,
  ...more,
];

export const ofHome = (thing: HomeThing, ...more: unknown[]): QueryKey => ["home", thing, ...more];

/** Return the key below which everything of one agent is. */
export const allOfAgent = (agent: string): QueryKey => ["agent", agent];
