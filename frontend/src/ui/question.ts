// Questions to the person: what can be answered, when it is due, which is the most pressing. Pure.
import type { Schemas } from "~/api/client";
import { oneLine } from "./format";

export type Question = Schemas["QuestionView"];

export const ALLOW_ONCE = "allow once";
export const ALLOW_ALWAYS = "allow always";
export const DENY = "deny";

/** Which agent is shown, and which have ended: its questions come first, theirs last. */
export interface Place {
  agent: string;
  ended: ReadonlySet<string>;
}

const ANYWHERE: Place = { agent: "", ended: new Set() };

/** Return the open questions: by agent (see `Place`), then by deadline, urgency and age. */
export function byNeed(questions: readonly Question[], { agent, ended }: Place = ANYWHERE): Question[] {
  const isHere = (one: Question) => one.agent === agent || one.agent_name === agent;
  const distance = (one: Question) => (ended.has(one.agent) ? 2 : agent && isHere(one) ? 0 : 1);
  const due = (one: Question) => one.deadline_at ?? Infinity;
  const urgency = (one: Question) => (one.urgency === "urgent" ? 0 : 1);
  return questions.toSorted((one, other) => {
    if (distance(one) !== distance(other)) return distance(one) - distance(other);
    const [mine, theirs] = [due(one), due(other)];
    if (mine !== theirs) return mine < theirs ? -1 : 1;
    return urgency(one) - urgency(other) || one.asked_at - other.asked_at;
  });
}

/** Return the option that a digit key means, if there is one. */
export const optionOf = (question: Question, key: string): string | undefined =>
  /^[1-9]$/.test(key) ? question.options[Number(key) - 1] : undefined;

/** Return the words of an approval without the action, which is shown as a whole below them. */
export function askedOf({ question, about, kind }: Question): string {
  return kind === "approval" && about?.subject ? question.replace(` ${about.subject}`, () => "") : question;
}

/** Return how long is left until a time: 4:05, 2:03:04; "0:00" when it is over. */
export function countdown(until: number, now: number): string {
  const left = Math.max(0, Math.ceil(until - now));
  const [hours, minutes, seconds] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60];
  const two = (count: number) => String(count).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
}

/** Return which questions are new among the open ones, and which of the known are not open now. */
export function changes(
  known: ReadonlySet<string> | null,
  open: readonly Question[],
): { came: Question[]; gone: string[] } {
  if (known === null) return { came: [], gone: [] };
  const now = new Set(open.map((one) => one.id));
  return {
    came: open.filter((one) => !known.has(one.id)),
    gone: [...known].filter((id) => !now.has(id)),
  };
}

const LONGEST_LINE = 300;

/** Return a question in one line, for narrow places: an approval as it is, other texts without the signs of Markdown. */
export function lineOf({ question, kind }: Pick<Question, "question" | "kind">): string {
  const line = oneLine(kind === "approval" ? question : question.trim().replace(/\*\*|`|^#+ /g, ""));
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE - 1)}…` : line;
}
