// @vitest-environment jsdom
import { fireEvent, render, screen } from "@testing-library/react";
import { useEffect, useState } from "react";
import { beforeAll, expect, test } from "vitest";

import type { SettingsContent } from "~/api/system";
import { startTexts } from "~/text/i18n";
import { type Draft, type Key, NO_DRAFT } from "./draft";
import { SettingField } from "./SettingField";

const TEXT = { type: "string" };
const SHAPE = {
  $defs: {
    Server: {
      type: "object",
      properties: {
        command: { ...TEXT, default: "" },
        env: { type: "object", additionalProperties: TEXT },
        seconds: { anyOf: [{ type: "number" }, { type: "null" }] },
        grant: { type: "array", items: TEXT },
      },
    },
  },
  type: "object",
  properties: {
    servers: { type: "object", patternProperties: { "^[a-z]+$": { $ref: "#/$defs/Server" } } },
    headers: { type: "object", additionalProperties: TEXT },
    contexts: { type: "object", additionalProperties: { type: "integer" }, merged: true },
    extra: { type: "object", additionalProperties: true },
  },
};

let latest: Draft = NO_DRAFT;

beforeAll(startTexts);

function Shown({ path, own = {}, fallback }: { path: Key; own?: Record<string, unknown>; fallback?: unknown }) {
  const [draft, setDraft] = useState(NO_DRAFT);
  useEffect(() => {
    latest = draft;
  });
  const content = { shape: SHAPE } as unknown as SettingsContent;
  return (
    <SettingField content={content} own={own} draft={draft} problems={[]} onDraft={setDraft} path={path} fallback={fallback} />
  );
}

const write = (label: string, value: string) =>
  fireEvent.change(screen.getByLabelText(label), { target: { value } });
const changes = () => latest.changes.map(({ key, value, remove }) => [key.join("."), remove ? "-" : value]);

function add(table: string, name: string): void {
  write(`New name in ${table}`, name);
  const form = screen.getByLabelText(`New name in ${table}`).closest("form");
  if (form) fireEvent.submit(form);
}

test("a table of records is edited field by field, and each change is one of that place", () => {
  render(<Shown path={["servers"]} own={{ servers: { db: { command: "x", env: { A: "1" } } } }} fallback={{}} />);
  write("A", "2");
  add("servers.db.env", "B");
  write("B", "3");
  write("seconds", "0.");
  write("seconds", "0.5");
  write("grant", "ada\n");
  expect((screen.getByLabelText("grant") as HTMLTextAreaElement).value).toBe("ada\n");
  add("servers", "web");
  fireEvent.click(screen.getByLabelText("Remove servers.db.env.A"));
  expect(changes()).toEqual([
    ["servers.db.env.B", "3"],
    ["servers.db.seconds", 0.5],
    ["servers.db.grant", ["ada"]],
    ["servers.db.env.A", "-"],
  ]);
  fireEvent.click(screen.getByLabelText("Remove servers.db"));
  expect(changes()).toEqual([["servers.db", "-"]]);
});

test("a shipped table is taken over as a whole where one's own replaces it", () => {
  render(<Shown path={["headers"]} fallback={{ one: "1", two: "2" }} />);
  write("two", "3");
  expect(changes()).toEqual([["headers", { one: "1", two: "3" }]]);
  fireEvent.click(screen.getByLabelText("Remove headers.one"));
  expect(changes().at(-1)).toEqual(["headers.one", "-"]);
  fireEvent.click(screen.getByLabelText("Reset headers to the default"));
  expect(changes()).toEqual([["headers", "-"]]);
});

test("of a shipped table that one's own is laid over, only what differs is written", () => {
  render(<Shown path={["contexts"]} fallback={{ small: 8000 }} />);
  expect(screen.queryByLabelText("Take contexts.small out")).toBeNull();
  write("small", "9000");
  add("contexts", "large");
  write("large", "200000");
  expect(changes()).toEqual([
    ["contexts.small", 9000],
    ["contexts.large", 200000],
  ]);
});

test("a value of any kind is read as JSON, else as a text", () => {
  render(<Shown path={["extra"]} fallback={{}} />);
  add("extra", "thinking");
  write("thinking", '{"type": "on"}');
  expect(changes()).toEqual([["extra", { thinking: { type: "on" } }]]);
  write("thinking", "on");
  expect(changes()).toEqual([
    ["extra", { thinking: { type: "on" } }],
    ["extra.thinking", "on"],
  ]);
});
