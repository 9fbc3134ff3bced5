// Which agents are shown: those of a group whose name or goal has all the words. Pure.
export const GROUPS = ["all", "waiting", "atWork", "ended"] as const;
export type Group = (typeof GROUPS)[number];

/** In which order agents are listed: first those that need the person, or by one of their facts. */
export const AGENT_ORDERS = ["need", "newest", "oldest", "costliest", "name"] as const;
export type AgentOrder = (typeof AGENT_ORDERS)[number];

interface Agent {
  name: string;
  goal: string;
  status: string;
  open_questions: number;
  created_at: number;
  cost_usd?: number | null;
}

const ENDED = new Set(["completed", "failed", "stopped"]);

export function isIn(group: Group, agent: Agent): boolean {
  switch (group) {
    case "all":
      return true;
    case "waiting":
      return agent.status === "waiting_for_human" || agent.open_questions > 0;
    case "atWork":
      return !ENDED.has(agent.status);
    case "ended":
      return ENDED.has(agent.status);
  }
}

/** Return the agents to show, in an order; by default those that wait for the person first. */
export function chosen<One extends Agent>(
  agents: readonly One[],
  group: Group,
  words: string,
  order: AgentOrder = "need",
): One[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return agents
    .filter((agent) => {
      const text = `${agent.name} ${agent.goal}`.toLowerCase();
      return isIn(group, agent) && wanted.every((word) => text.includes(word));
    })
    .toSorted(COMPARED[order]);
}

const rank = (agent: Agent) => (isIn("waiting", agent) ? 0 : ENDED.has(agent.status) ? 2 : 1);
const newest = (one: Agent, other: Agent) => other.created_at - one.created_at;
const COMPARED: Readonly<Record<AgentOrder, (one: Agent, other: Agent) => number>> = {
  need: (one, other) => rank(one) - rank(other) || newest(one, other),
  newest,
  oldest: (one, other) => newest(other, one),
  costliest: (one, other) => (other.cost_usd ?? 0) - (one.cost_usd ?? 0) || newest(one, other),
  name: (one, other) => one.name.localeCompare(other.name),
};
