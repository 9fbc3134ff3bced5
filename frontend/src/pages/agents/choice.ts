// Which agents are shown: those of a group whose name or goal has all the words. Pure.
export const GROUPS = ["all", "waiting", "atWork", "ended"] as const;
export type Group = (typeof GROUPS)[number];

interface Agent {
  name: string;
  goal: string;
  status: string;
  open_questions: number;
  created_at: number;
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

/** Return the agents to show, those that wait for the person first, then the newest. */
export function chosen<One extends Agent>(agents: readonly One[], group: Group, words: string): One[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = (agent: Agent) => (isIn("waiting", agent) ? 0 : ENDED.has(agent.status) ? 2 : 1);
  return agents
    .filter((agent) => {
      const text = `${agent.name} ${agent.goal}`.toLowerCase();
      return isIn(group, agent) && wanted.every((word) => text.includes(word));
    })
    .toSorted((one, other) => rank(one) - rank(other) || other.created_at - one.created_at);
}
