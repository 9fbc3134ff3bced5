// The actions on an entity. Pure.
import type { Schemas } from "~/api/client";

export type Act = Schemas["SteeredView"]["act"];

const DOWN = new Set(["stopped", "failed", "finished"]);

/** Return what can be done with an entity that stands so. */
export function actsFor(status: string, process: string | null): Act[] {
  if (DOWN.has(status) || (process !== null && DOWN.has(process))) return ["resume", "restart"];
  const held: Act[] = status === "paused" ? ["step", "resume"] : ["pause", "interrupt"];
  return [...held, "restart", "stop", "kill"];
}
