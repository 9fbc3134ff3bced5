// @vitest-environment jsdom
import { expect, test } from "vitest";

import { listFiles } from "./files";
import type { AgentEvent } from "~/live/eventLog";
import { logLinesOf } from "./log";

const event = (seq: number, type: string, text: string, data: Record<string, unknown> = {}) =>
  ({ seq, type, ts: seq, text, data, tone: data["is_error"] ? "bad" : "quiet" }) as AgentEvent;

test("a tool call and its result are one line, which is bad if the call failed", () => {
  const lines = logLinesOf(
    [
      event(1, "node.started", "works on tables"),
      event(2, "tool.called", "bash make", { tool: "bash" }),
      event(3, "tool.result", "bash failed", { tool: "bash", preview: "no rule", is_error: true }),
      event(4, "tool.called", "bash ls", { tool: "bash" }),
    ],
    (one) => one.text,
  );
  expect(lines.map(({ text, isBad }) => [text, isBad])).toEqual([
    ["works on tables", false],
    ["bash make → no rule", true],
    ["bash ls", false],
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
