// Which agents are deleted when one tidies up: those that ended long ago. Pure.

const ENDED = new Set(["completed", "failed", "stopped"]);

interface Agent {
  status: string;
  updated_at: number;
}

/** Return the agents that have ended and have not changed for so many seconds, the oldest first. */
export const oldOf = <One extends Agent>(agents: readonly One[], seconds: number, now: number): One[] =>
  agents
    .filter((agent) => ENDED.has(agent.status) && agent.updated_at <= now - seconds)
    .toSorted((one, other) => one.updated_at - other.updated_at);
