// @vitest-environment jsdom
import { expect, test } from "vitest";

import { listFiles } from "./files";
import { type AgentEvent, logLinesOf } from "./log";

const event = (seq: number, type: string, data: Record<string, unknown> = {}): AgentEvent =>
  ({ seq, type, ts: seq, data, agent_id: "a", entity: "ada", run_id: "r", node_id: "n", key: "" }) as AgentEvent;

test("a tool call and its result are one line, which is bad if it went wrong", () => {
  const lines = logLinesOf([
    event(1, "node.started"),
    event(2, "tool.called", { tool: "bash", arguments: { command: "make" } }),
    event(3, "tool.result", { tool: "bash", preview: "no rule", is_error: true }),
    event(4, "model.answered", { model: "m", text: "I see", calls: ["read", "write"] }),
    event(5, "node.failed", { reason: "gave up" }),
  ]);
  expect(lines.map(({ title, text, isBad }) => [title, text, isBad])).toEqual([
    ["started", "", false],
    ["bash", "command: make → no rule", true],
    ["m", "I see → read, write", false],
    ["failed", "gave up", true],
  ]);
});

test("files are listed by their paths in the folder of the node", () => {
  const entry = (path: string, kind: string) => ({ path, kind, name: path.split("/").at(-1), size: 1 });
  const entries = [
    entry("nodes/a/published/b/c.md", "file"),
    entry("nodes/a/published/b", "folder"),
    entry("nodes/a/published/a.md", "file"),
  ];
  const folder = { path: "nodes/a/published", entries, is_truncated: false };
  const files = listFiles(folder as Parameters<typeof listFiles>[0], "nodes/a/published");
  expect(files.map((file) => file.path)).toEqual(["a.md", "b/c.md"]);
});
