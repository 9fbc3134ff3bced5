// An event as a sentence: the gateway sends it in English, other languages have templates by type.
import { useTranslation } from "react-i18next";

import { lastPart, oneLine, type Tone } from "~/ui";
import type { AgentEvent } from "./eventLog";

const LONGEST = 240;

export interface EventText {
  /** The sentence without the acting entity. */
  sentence: (event: AgentEvent) => string;
  /** The sentence with the longer text that belongs to it, in one line. */
  line: (event: AgentEvent) => string;
}

export function useEventText(): EventText {
  const { t, i18n } = useTranslation("events");
  const sentence = (event: AgentEvent) => {
    const key: string = `sentence.${event.type}`;
    if (!i18n.exists(key, { ns: "events" })) return event.text;
    return t(key, { ...valuesOf(event), defaultValue: "" });
  };
  const line = (event: AgentEvent) => {
    const text = [sentence(event), detailOf(event)].filter(Boolean).join(": ");
    const shown = oneLine(text);
    return shown.length > LONGEST ? `${shown.slice(0, LONGEST - 1)}…` : shown;
  };
  return { sentence, line };
}

/** Return the longer text that belongs to the sentence of an event, '' if there is none. */
export const detailOf = ({ data, detail }: AgentEvent): string => {
  const value = detail ? data[detail] : "";
  return typeof value === "string" ? value : "";
};

export function toneOf({ tone }: AgentEvent): Tone {
  return tone === "plain" || tone === "voice" ? "busy" : tone;
}

/** Return the values that a template may name: texts, numbers and lists of them. */
function valuesOf({ data }: AgentEvent): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(data)) {
    const isAddress = name === "from" || name === "to";
    values[name] = Array.isArray(value)
      ? value.filter((one) => typeof one !== "object").join(", ")
      : typeof value === "object" ? "" : isAddress ? lastPart(String(value)) : String(value);
  }
  return values;
}
