// What an event or a change means for what is kept: which answers it makes old. Pure.
import { type AgentThing, type HomeThing, ofAgent, ofHome, type QueryKey } from "~/api/keys";

export interface Concern {
  readonly agent: readonly AgentThing[];
  readonly home: readonly HomeThing[];
}

const TEAM = ["agents", "overview", "entities"] as const;

const BY_GROUP: Readonly<Record<string, Concern>> = {
  agent: { agent: ["view", "runs", "board", "workers", "roles"], home: [...TEAM, "archive", "all-runs"] },
  stage: { agent: ["board", "view", "timeline"], home: ["agents", "overview"] },
  node: {
    agent: ["board", "log", "view", "workers", "files", "timeline"],
    home: ["agents", "overview"],
  },
  worker: { agent: ["workers", "view", "board", "timeline"], home: TEAM },
  message: {
    agent: ["messages", "traffic"],
    home: ["inbox"],
  },
  tool: { agent: ["log", "files", "timeline"], home: [] },
  sandbox: { agent: ["log"], home: [] },
  outside: {
    agent: ["log", "usage", "workers", "timeline"],
    home: ["usage", "budgets", "overview"],
  },
  model: {
    agent: ["log", "usage", "view", "timeline"],
    home: ["usage", "budgets", "overview"],
  },
  human: {
    agent: ["view", "workers"],
    home: ["questions", "approvals", "inbox", "agents", "overview"],
  },
  role: { agent: ["roles"], home: [] },
  channel: { agent: [], home: ["channels", "deliveries"] },
  memory: { agent: ["memory"], home: [] },
  shared: { agent: ["board"], home: [] },
  knowledge: { agent: ["board"], home: ["knowledge"] },
  worktree: { agent: ["files", "board"], home: [] },
  trigger: { agent: ["triggers"], home: [] },
  child: { agent: ["view", "workers", "timeline"], home: [...TEAM, "health"] },
  service: { agent: ["view", "workers"], home: [...TEAM, "health"] },
  entity: { agent: ["view", "workers"], home: [...TEAM, "health", "dead"] },
  events: { agent: ["events"], home: [] },
};

const BY_TYPE: Readonly<Record<string, Concern>> = {
  "human.attached": { agent: ["files"], home: [] },
  "human.budget": { agent: ["usage", "view"], home: ["budgets", "usage"] },
  "human.response": {
    agent: ["view", "workers"],
    home: ["questions", "approvals", "budgets", "overview"],
  },
  "message.dead": { agent: [], home: ["dead"] },
};

/** Return what events of a type concern; one of an unknown type, of a newer Agiraph, all views. */
export function concernOf(type: string): Concern {
  const group = type.split(".", 1)[0] ?? "";
  return BY_TYPE[type] ?? BY_GROUP[group] ?? { agent: ["view", "board"], home: TEAM };
}

/** Return the keys of what events of these types of one agent make old. */
export function keysOf(agent: string, types: Iterable<string>): QueryKey[] {
  const ofAgents = new Set<AgentThing>(["thread"]);
  const ofHomes = new Set<HomeThing>();
  for (const type of types) {
    const concern = concernOf(type);
    concern.agent.forEach((thing) => ofAgents.add(thing));
    concern.home.forEach((thing) => ofHomes.add(thing));
  }
  return [
    ...Array.from(ofAgents, (thing) => ofAgent(agent, thing)),
    ...Array.from(ofHomes, (thing) => ofHome(thing)),
  ];
}

// --- the changes of the home (`WS /changes`) ---

export type Change =
  | {
      kind: "home";
      agents: Record<string, number>;
      messages: number;
      unread: Record<string, number>;
      questions: string[];
    }
  | { kind: "events"; agent: string; seq: number; types: string[] }
  | { kind: "agent"; agent: string; change: "archived" | "restored" | "deleted" }
  | { kind: "inbox"; agent: string; seq: number; unread: number }
  | { kind: "question"; agent: string; id: string; status: string }
  | {
      kind: "entity";
      agent: string | null;
      address: string;
      state: string;
      step: string;
      doing: string;
      doing_since: number | null;
    };

/**
 * Return the keys of what a change makes old. `seen` are the cursors that one has had so far, which
 * may be none of any agent; null: this is the first change, and what is shown is as new.
 */
export function keysOfChange(change: Change, seen: ReadonlyMap<string, number> | null): QueryKey[] {
  switch (change.kind) {
    case "home":
      if (seen === null) return [];
      return Object.entries(change.agents)
        .filter(([agent, seq]) => seen.get(agent) !== seq)
        .map(([agent]): QueryKey => ["agent", agent])
        .concat([["home"]]);
    case "events":
      return keysOf(change.agent, change.types);
    case "agent":
      return [ofHome("agents"), ofHome("overview"), ofHome("archive"), ["agent", change.agent]];
    case "inbox":
      return [
        ofHome("inbox"),
        ofHome("overview"),
        ofHome("agents"),
        ...(["thread", "view", "workers"] as const).map((thing) => ofAgent(change.agent, thing)),
      ];
    case "question":
      return [ofHome("questions"), ofAgent(change.agent, "thread")];
    case "entity":
      return []; // put into place as it is
    default:
      return []; // of a newer Agiraph
  }
}
