// The model services and models of a home, as `GET /models` lists them. Pure.

export interface Model {
  name: string;
  context: number | null;
  input: number | null;
  output: number | null;
}

export interface Provider {
  name: string;
  isUsable: boolean;
  reason: string;
  /** The environment variable that is missing, '' if something else is. */
  variable: string;
  models: readonly Model[];
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const number = (value: unknown): number | null => (typeof value === "number" ? value : null);

/** Return the services, those that can be used first. */
export function providersOf(rows: readonly Record<string, unknown>[]): Provider[] {
  return rows.map(providerOf).toSorted((one, other) => Number(other.isUsable) - Number(one.isUsable));
}

function providerOf(row: Record<string, unknown>): Provider {
  const listed = Array.isArray(row["models"]) ? (row["models"] as Record<string, unknown>[]) : [];
  const models = listed.map((model) => ({
    name: text(model["name"]),
    context: number(model["context"]),
    input: number(model["input"]),
    output: number(model["output"]),
  }));
  const usual = text(row["default_model"]);
  if (usual && !models.some(({ name }) => name === usual)) {
    models.unshift({ name: usual, context: number(row["context"]), input: null, output: null });
  }
  const reason = text(row["reason"]);
  return {
    name: text(row["name"]),
    isUsable: row["usable"] === true,
    reason,
    variable: /^([A-Z][A-Z0-9_]+)( or [A-Z0-9_]+)* is not set$/.exec(reason)?.[1] ?? "",
    models,
  };
}
