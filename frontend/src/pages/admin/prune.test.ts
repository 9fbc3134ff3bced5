import { expect, test } from "vitest";

import { oldOf } from "./prune";

const agent = (id: string, status: string, updated_at: number) => ({ id, status, updated_at });

test("agents that ended long ago are old, the oldest first; those at work never", () => {
  const agents = [agent("new", "completed", 950), agent("old", "failed", 200), agent("older", "stopped", 100), agent("busy", "working", 1)];
  expect(oldOf(agents, 100, 1000).map(({ id }) => id)).toEqual(["older", "old"]);
  expect(oldOf(agents, 0, 1000).map(({ id }) => id)).toEqual(["older", "old", "new"]);
  expect(oldOf([agent("now", "completed", 1000)], 0, 1000)).toHaveLength(1);
});
