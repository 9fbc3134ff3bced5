// @vitest-environment jsdom
import { expect, test } from "vitest";

import { asMarkdown, type Entry } from "./transcript";

const entry = (kind: string, more: Partial<Entry> = {}): Entry =>
  ({ seq: 1, kind, ts: 0, from: "", name: "", model: "", content: null, tool_calls: [], is_error: false, interrupted: false, ...more }) as Entry;

test("a conversation becomes one page of headings, texts, calls and results", () => {
  const page = asMarkdown("survey-1a2b/ada", [
    entry("heard", { from: "survey-1a2b/coordinator", content: "Count the files\nand say so" }),
    entry("said", {
      model: "openai/gpt-4o",
      content: "I count them.",
      tool_calls: [{ id: "1", name: "bash", arguments: { command: "ls" }, malformed: null }],
    }),
    entry("tool.finished", { name: "bash", content: "a\nb" }),
    entry("tool.started", { name: "bash" }),
  ]);
  expect(page).toBe(`# survey-1a2b/ada

## coordinator · 1970-01-01 00:00:00

> Count the files
> and say so

## says · 1970-01-01 00:00:00 · openai/gpt-4o

I count them.

### calls bash

\`\`\`
{
  "command": "ls"
}
\`\`\`

### result of bash · 1970-01-01 00:00:00

\`\`\`
a
b
\`\`\`
`);
});

test("a result that has a fence in it is put into a longer one", () => {
  const page = asMarkdown("x", [entry("tool.finished", { name: "read", is_error: true, content: "```\nx\n```" })]);
  expect(page).toContain("### failed of read");
  expect(page).toContain("````\n```\nx\n```\n````");
});
