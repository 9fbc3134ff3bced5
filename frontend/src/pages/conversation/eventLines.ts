// Which events a conversation shows, and as what: a sentence of the texts, its values, its tone. Pure.
import type { conversation } from "~/text/en/conversation";
import type { AgentEvent } from "~/live/eventLog";
import { lastPart, type Tone } from "~/ui";

export type EventPhrase = keyof typeof conversation.event;

export interface EventLine {
  phrase: EventPhrase;
  values: Record<string, string>;
  tone: Tone;
  /** Longer text that belongs to it, in Markdown. */
  body: string;
  /** It is a result: shown also where only results are. */
  isResult: boolean;
}

type Data = AgentEvent["data"];
type Shape = [phrase: EventPhrase, tone: Tone, ...body: string[]];

const RESULTS = new Set(["agent.created", "agent.completed", "agent.failed", "agent.stopped"]);
export const RESULT_TYPES = [...RESULTS];

const SHAPES: Readonly<Record<string, Shape>> = {
  "agent.created": ["goal", "quiet", "goal"],
  "agent.paused": ["paused", "ask"],
  "agent.resumed": ["resumed", "quiet"],
  "agent.completed": ["completed", "good", "result"],
  "agent.failed": ["failed", "bad", "reason"],
  "agent.stopped": ["stopped", "quiet", "reason"],
  "agent.reopened": ["reopened", "quiet"],
  "agent.standstill": ["standstill", "bad", "text"],
  "agent.cycle_ended": ["cycleEnded", "quiet", "notes"],
  "agent.cycle_started": ["cycleStarted", "quiet"],
  "stage.started": ["stageStarted", "busy"],
  "stage.met": ["stageMet", "good"],
  "stage.reconvened": ["reconvened", "busy", "assessment"],
  "stage.completed": ["stageCompleted", "good"],
  "node.created": ["nodeCreated", "quiet"],
  "node.started": ["nodeStarted", "busy"],
  "team.turn": ["teamTurn", "busy", "message"],
  "node.deadlock": ["nodeDeadlock", "bad", "text"],
  "node.checkpoint": ["nodeCheckpoint", "quiet", "summary"],
  "node.completed": ["nodeCompleted", "good", "summary"],
  "node.failed": ["nodeFailed", "bad", "reason"],
  "node.retried": ["nodeRetried", "busy", "because", "reason"],
  "node.cancelled": ["nodeCancelled", "quiet", "reason"],
  "node.skipped": ["nodeSkipped", "quiet", "reason"],
  "context.used": ["contextUsed", "quiet", "text"],
  "worker.spawned": ["workerSpawned", "good"],
  "worker.paused": ["workerPaused", "ask"],
  "worker.resumed": ["workerResumed", "quiet"],
  "worker.stopped": ["workerStopped", "quiet"],
  "tool.refused": ["toolRefused", "bad", "reason"],
  "tool.loop": ["toolLoop", "bad"],
  "tool.missing": ["toolMissing", "bad", "reason"],
  "outside.warning": ["outsideWarning", "ask", "text"],
  "outside.started": ["outsideStarted", "quiet"],
  "outside.ended": ["outsideEnded", "quiet", "problem"],
  "model.retry": ["modelRetry", "bad", "message"],
  "model.fallback": ["modelFallback", "bad", "message"],
  "model.failed": ["modelFailed", "bad", "message"],
  "human.expired": ["expired", "bad", "question"],
  "human.withdrawn": ["withdrawn", "quiet", "question"],
  "trigger.fired": ["triggerFired", "quiet", "about"],
  "worktree.merged": ["worktreeMerged", "good"],
  "worktree.conflict": ["worktreeConflict", "bad"],
  "child.ready": ["restarted", "good"],
  "child.crashed": ["crashed", "bad", "why"],
  "child.failed": ["gaveUp", "bad", "why"],
  "entity.suspect": ["hangs", "bad"],
  "entity.recovered": ["recovered", "good"],
};

export const SHOWN_TYPES = Object.keys(SHAPES);

/** Return the name of an entity from its address or id: without the agent and the number. */
export const shortName = (address: string): string => lastPart(address).replace(/-[0-9a-f]{6,}$/, "");

/** Whether an event belongs into the conversation with an entity. */
export function isShown(event: AgentEvent, entity: string): boolean {
  if (!(event.type in SHAPES)) return false;
  if (event.type === "child.ready" && isPlainStart(event.data)) return false;
  if (entity === "coordinator") return true;
  return [event.entity, text(event.data, "worker"), text(event.data, "name")].some(
    (named) => shortName(named).toLowerCase() === entity.toLowerCase(),
  );
}

/** The first start of a process, or that of one that was parked. */
const isPlainStart = (data: Data) => Number(data["incarnation"] ?? 1) <= 1 || data["was_parked"] === true;

export function lineOf(event: AgentEvent): EventLine | null {
  const shape = SHAPES[event.type];
  if (!shape) return null;
  const [phrase, tone, ...bodies] = shape;
  const { data } = event;
  const values: Record<string, string> = { who: shortName(event.entity) };
  for (const [name, value] of Object.entries(data)) {
    if (typeof value === "string" || typeof value === "number") values[name] = String(value);
    else if (Array.isArray(value)) values[name] = value.map(String).join(", ");
  }
  const body = bodies.map((name) => text(data, name)).find(Boolean) ?? "";
  // The call has not been made yet: its service pauses.
  if (event.type === "model.retry" && data["attempt"] === 0) {
    return { phrase: "modelWaits", values, tone, body, isResult: false };
  }
  return { phrase, values, tone, body, isResult: RESULTS.has(event.type) };
}

function text(data: Data, name: string): string {
  const value = data[name];
  return typeof value === "string" ? value : "";
}
