// What one has begun to write, kept for each conversation in this browser.
import { useCallback, useState } from "react";

const PREFIX = "agiraph.draft.";
const nameOf = (agent: string, entity: string) => `${PREFIX}${agent}/${entity}`;

function keep(name: string, text: string): void {
  try {
    if (text) localStorage.setItem(name, text);
    else localStorage.removeItem(name);
  } catch {
    // The browser keeps nothing: the text is in the field alone.
  }
}

export function useDraft(agent: string, entity: string): [string, (text: string) => void] {
  const name = nameOf(agent, entity);
  const [draft, setDraft] = useState(() => ({ name, text: localStorage.getItem(name) ?? "" }));
  if (draft.name !== name) setDraft({ name, text: localStorage.getItem(name) ?? "" });
  const change = useCallback(
    (text: string) => {
      keep(name, text);
      setDraft({ name, text });
    },
    [name],
  );
  return [draft.text, change];
}
