import { expect, test } from "vitest";

import { at, editOf, isChanged, NO_DRAFT, valueAt, withChange, withoutChange, withText } from "./draft";
import { arrangementOf, brief, kindOf, propertiesOf, read, schemaAt, written } from "./schema";

const change = (key: (string | number)[], value: unknown = null, remove = false) => ({
  key,
  value: value as string,
  remove,
});
const ROOT = {
  $defs: {
    Run: {
      type: "object",
      properties: {
        max: { type: "integer" },
        timeout: { anyOf: [{ type: "number" }, { type: "null" }] },
        policy: { enum: ["all", "any"], type: "string" },
        names: { type: "array", items: { type: "string" } },
        tool: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] },
        is: { type: "boolean" },
        table: { type: "object", additionalProperties: { type: "string" } },
      },
    },
  },
  properties: { run: { $ref: "#/$defs/Run" } },
};

test("the newest change of a place counts, and nothing else changes", () => {
  let draft = withChange(NO_DRAFT, change(["run", "max"], 3));
  draft = withChange(draft, change(["run", "max"], 4));
  expect(draft.changes).toHaveLength(1);
  expect(valueAt({ run: { max: 1, is: true } }, draft, ["run", "max"])).toBe(4);
  expect(valueAt({ run: { max: 1, is: true } }, draft, ["run", "is"])).toBe(true);
  expect(editOf(withoutChange(draft, ["run", "max"]))).toBeNull();
});

test("what is removed is not there, nor what was in it", () => {
  const draft = withChange(withChange(NO_DRAFT, change(["run", "max"], 3)), change(["run"], null, true));
  expect(draft.changes).toHaveLength(1);
  expect(valueAt({ run: { max: 1 } }, draft, ["run", "max"])).toBeUndefined();
  const whole = withChange(NO_DRAFT, change(["rules", 0], { action: "ask" }));
  expect(valueAt({}, whole, ["rules", 0, "action"])).toBe("ask");
});

test("a text that is written by hand takes the place of the form's changes", () => {
  const draft = withText("a: 2\n", "a: 1\n");
  expect([isChanged(draft), draft.changes.length]).toEqual([true, 0]);
  expect(isChanged(withText("a: 1\n", "a: 1\n"))).toBe(false);
  expect(editOf(withChange(draft, change(["b"], 1)))).toEqual({
    text: "a: 2\n",
    changes: [change(["b"], 1)],
  });
});

test("a place that is not there has no value", () => {
  expect(at({ a: [1, { b: 2 }] }, ["a", 1, "b"])).toBe(2);
  expect(at({ a: 1 }, ["a", "b"])).toBeUndefined();
  expect(at(null, ["a"])).toBeUndefined();
});

test("the schema says what a field is", () => {
  const run = schemaAt(ROOT, ["run"]);
  const kinds = Object.fromEntries(propertiesOf(run).map(([name, shape]) => [name, kindOf(shape, ROOT)]));
  expect(Object.entries(kinds).map(([name, kind]) => [name, kind.kind])).toEqual([
    ["max", "number"],
    ["timeout", "number"],
    ["policy", "choice"],
    ["names", "list"],
    ["tool", "list"],
    ["is", "toggle"],
    ["table", "table"],
  ]);
  expect(kinds["timeout"]?.isNullable).toBe(true);
  expect(kinds["policy"]?.choices).toEqual(["all", "any"]);
  expect(kindOf(schemaAt(ROOT, ["nowhere", "at", "all"]), ROOT).kind).toBe("free");
});

test("what is written in a field is what is read from it", () => {
  const of = (name: string) => kindOf(schemaAt(ROOT, ["run", name]), ROOT);
  expect(read("12", of("max"))).toBe(12);
  expect(read("twelve", of("max"))).toBe("twelve");
  expect(read("", of("max"))).toBeUndefined();
  expect(read("", of("timeout"))).toBeNull();
  expect(read("a\n\nb", of("names"))).toEqual(["a", "b"]);
  expect([read("a", of("names")), read("a", of("tool"))]).toEqual([["a"], "a"]);
  expect([written(["a", "b"], of("names")), written("a", of("tool")), written(null, of("max"))]).toEqual([
    "a\nb",
    "a",
    "",
  ]);
});

test("a file has sections, names or rules", () => {
  expect(arrangementOf({ shape: ROOT })).toBe("sections");
  expect(arrangementOf({ shape: { additionalProperties: { type: "object" } } })).toBe("names");
  expect(arrangementOf({ shape: { properties: { rules: { type: "array" } } } })).toBe("rules");
  expect([brief(""), brief(null), brief(["a", 1]), brief([]), brief({ a: 1 })]).toEqual([
    '""',
    "null",
    "a, 1",
    "[]",
    '{"a":1}',
  ]);
});
