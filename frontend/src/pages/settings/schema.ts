// What kind of field a JSON Schema asks for. Pure.
import type { SettingsContent } from "~/api/system";

export type Shape = Record<string, unknown>;

export interface FieldKind {
  kind: "toggle" | "choice" | "number" | "text" | "list" | "table" | "group" | "free";
  choices: readonly string[];
  isWhole: boolean;
  /** It may be empty: null. */
  isNullable: boolean;
  /** A list that may be written as one word. */
  isWordOrList: boolean;
}

const PLAIN: FieldKind = { kind: "free", choices: [], isWhole: false, isNullable: false, isWordOrList: false };

const asShape = (value: unknown): Shape =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Shape) : {};
const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Return a schema with what it refers to in its place. */
export function resolved(schema: unknown, root: Shape): Shape {
  const shape = asShape(schema);
  const name = typeof shape["$ref"] === "string" ? shape["$ref"].split("/").at(-1) : undefined;
  return name === undefined ? shape : asShape(asShape(root["$defs"])[name]);
}

/** Return the schema at a place, {} where there is none. */
export function schemaAt(root: Shape, key: readonly (string | number)[]): Shape {
  let shape: Shape = root;
  for (const part of key) {
    const own = asShape(shape["properties"])[part];
    shape = resolved(typeof part === "number" ? shape["items"] : (own ?? rowOf(shape)), root);
  }
  return shape;
}

/** Return the schema of the rows of a table, whose names are free. */
const rowOf = (shape: Shape): unknown =>
  Object.values(asShape(shape["patternProperties"]))[0] ?? shape["additionalProperties"];

export const propertiesOf = (shape: Shape): [string, Shape][] =>
  Object.entries(asShape(shape["properties"])) as [string, Shape][];

export function kindOf(schema: unknown, root: Shape): FieldKind {
  const shape = resolved(schema, root);
  const choices = asList(shape["enum"] ?? (shape["const"] === undefined ? [] : [shape["const"]]));
  if (choices.length) return { ...PLAIN, kind: "choice", choices: choices.map(String) };
  const any = asList(shape["anyOf"]).map((one) => resolved(one, root));
  if (any.length) return ofAny(any, root);
  switch (shape["type"]) {
    case "boolean":
      return { ...PLAIN, kind: "toggle" };
    case "integer":
    case "number":
      return { ...PLAIN, kind: "number", isWhole: shape["type"] === "integer" };
    case "string":
      return { ...PLAIN, kind: "text" };
    case "array":
      return isOfWords(shape, root) ? { ...PLAIN, kind: "list" } : PLAIN;
    case "object":
      return { ...PLAIN, kind: shape["properties"] ? "group" : "table" };
    default:
      return PLAIN;
  }
}

function ofAny(any: Shape[], root: Shape): FieldKind {
  const isNullable = any.some((one) => one["type"] === "null");
  const kinds = any.filter((one) => one["type"] !== "null").map((one) => kindOf(one, root));
  const [first, second, ...more] = kinds;
  if (first && !second) return { ...first, isNullable };
  const pair = [first?.kind, second?.kind].toSorted().join(" ");
  if (pair === "list text" && !more.length) {
    return { ...PLAIN, kind: "list", isNullable, isWordOrList: true };
  }
  return { ...PLAIN, isNullable };
}

const isOfWords = (shape: Shape, root: Shape): boolean => {
  const items = resolved(shape["items"], root);
  return items["type"] === "string" || asList(items["enum"]).length > 0;
};

// --- what is written in a field ---

/** Return a value as it stands in a field. */
export function written(value: unknown, kind: FieldKind): string {
  if (value == null) return "";
  if (kind.kind === "list") return asList(Array.isArray(value) ? value : [value]).map(String).join("\n");
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Return what a field says; undefined for nothing: then the default holds. */
export function read(text: string, kind: FieldKind): unknown {
  switch (kind.kind) {
    case "number": {
      const trimmed = text.trim();
      if (!trimmed) return kind.isNullable ? null : undefined;
      const number = Number(trimmed);
      return Number.isFinite(number) ? number : trimmed; // the gateway says what is wrong with it
    }
    case "list": {
      const words = text.split("\n").filter((line) => line.trim());
      return kind.isWordOrList && words.length === 1 ? words[0] : words;
    }
    case "text":
      return text === "" && kind.isNullable ? null : text;
    case "free":
      try {
        return JSON.parse(text) as unknown;
      } catch {
        return text;
      }
    default:
      return text;
  }
}

/** How the settings of a file are arranged. */
export type Arrangement = "sections" | "rules" | "names";

export const arrangementOf = (content: Pick<SettingsContent, "shape">): Arrangement => {
  const shape = asShape(content.shape);
  if (asShape(shape["properties"])["rules"]) return "rules";
  return shape["additionalProperties"] && typeof shape["additionalProperties"] === "object" ? "names" : "sections";
};

/** A value in few words, as it stands in YAML. */
export const brief = (value: unknown): string => {
  if (value === "" || value == null) return value === "" ? '""' : "null";
  if (Array.isArray(value)) return value.length ? value.map(brief).join(", ") : "[]";
  return typeof value === "string" ? value : JSON.stringify(value);
};

const FEW = 4;

/** What a small row of a table says: `input 5, output 25`. */
export function inShort(value: unknown): string {
  const entries = Object.entries(asShape(value));
  if (!entries.length || entries.length > FEW) return brief(asShape(value)["about"] ?? asShape(value)["base_url"] ?? "").replace('""', "");
  return entries.map(([name, one]) => `${name} ${brief(one)}`).join(", ");
}
