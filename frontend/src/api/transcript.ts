// The transcript of an entity as Markdown, as `agiraph transcript` prints it.
import { api, type Schemas, take } from "./client";

export type Entry = Schemas["TranscriptEntryView"];

const PAGE = 1000;

/** Return all records of an entity's conversation, the oldest first. */
export async function readTranscript(agent: string, entity: string, run?: string): Promise<Entry[]> {
  const all: Entry[] = [];
  for (let after = 0; ; ) {
    const page = await take(
      api.GET("/agents/{agent}/transcript", {
        params: { path: { agent }, query: { entity, after, limit: PAGE, run } },
      }),
    );
    all.push(...page.entries);
    if (page.entries.length < PAGE) return all;
    after = page.next;
  }
}

/** Return a conversation as Markdown. Times are in UTC. */
export function asMarkdown(title: string, entries: readonly Entry[]): string {
  const parts = entries.map(partOf).filter(Boolean);
  return [`# ${title}`, ...parts].join("\n\n") + "\n";
}

/** Return what one record says to people; '' if it is only the runtime's. */
function partOf(entry: Entry): string {
  const when = new Date(entry.ts * 1000).toISOString().slice(0, 19).replace("T", " ");
  const text = (entry.content ?? "").trim();
  switch (entry.kind) {
    case "said":
      return said(entry, when, text);
    case "tool.finished":
      return `### ${entry.is_error ? "failed" : "result"} of ${oneLine(entry.name)} · ${when}\n\n${fenced(text)}`;
    case "assigned":
      return `## given a node · ${when}\n\n${quoted(text)}`;
    case "run.began":
      return `## given another goal · ${when}\n\n${quoted(text)}`;
    case "compacted":
      return `## the conversation was shortened · ${when}`;
    default: {
      const from = oneLine(entry.from.split("/").at(-1) ?? "") || "runtime";
      return text ? `## ${from} · ${when}\n\n${quoted(text)}` : "";
    }
  }
}

function said(entry: Entry, when: string, text: string): string {
  const model = entry.model ? ` · ${oneLine(entry.model)}` : "";
  const cut = entry.interrupted ? " · interrupted" : "";
  const calls = entry.tool_calls.map((call) => {
    const given = JSON.stringify(call.arguments ?? {}, null, 2);
    return `### calls ${oneLine(call.name)}${given === "{}" ? "" : `\n\n${fenced(given)}`}`;
  });
  return [`## says · ${when}${model}${cut}`, ...(text ? [text] : []), ...calls].join("\n\n");
}

/** Return a text in a fence that no line of it ends. */
function fenced(text: string): string {
  let fence = "```";
  while (text.includes(fence)) fence += "`";
  return `${fence}\n${text}\n${fence}`;
}

const quoted = (text: string): string =>
  text.split("\n").map((line) => `> ${line}`.trimEnd()).join("\n");

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();
