// What is known of a node besides its title and its text. Pure.
import type { KnowledgeNode } from "~/api/knowledge";

const shown = (value: unknown): string =>
  Array.isArray(value)
    ? value.map(shown).join(", ")
    : typeof value === "object" && value !== null
      ? JSON.stringify(value)
      : String(value);

/** Return the facts of a node that have a value, each with its name. */
export function factsOf(node: KnowledgeNode): (readonly [string, string])[] {
  const { project_id, tags, agent, run, importance, data } = node;
  const facts: Record<string, unknown> = { project: project_id, tags, agent, run, importance, ...data };
  return Object.entries(facts)
    .filter(([, value]) => value !== null && value !== "" && shown(value) !== "")
    .map(([name, value]) => [name, shown(value)] as const);
}
