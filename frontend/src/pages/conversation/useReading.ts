// What was seen of a conversation is read, once one looks at it.
import { useEffect, useRef, useState } from "react";

import { useMay } from "~/api/access";
import { useMarkRead } from "~/api/actions";
import { useInbox, useWorkers } from "~/api/queries";
import { HUMAN, type Message } from "./items";
import { readWith } from "./rows";

/** Return up to where it was read when one came, and have what is seen marked as read. */
export function useReading(
  agent: string,
  entity: string,
  messages: readonly Message[],
  isAtEnd: boolean,
): number {
  const inbox = useInbox().data?.find((one) => one.agent === agent || one.agent_name === agent);
  const { data: workers } = useWorkers(agent);
  const mark = useMarkRead(agent, { onError: () => undefined });
  const isVisible = useVisible();
  const mayTalk = useMay("talk");
  const place = `${agent}/${entity}`;
  const [came, setCame] = useState({ place: "", readTo: Infinity });
  if (came.place !== place && inbox) {
    setCame({ place, readTo: Math.max(inbox.read_to, inbox.read_with?.[entity] ?? 0) });
  }

  const { act } = mark;
  const latest = useRef(act);
  useEffect(() => {
    latest.current = act;
  });
  const last = messages.findLast((message) => message.from !== HUMAN)?.seq ?? 0;
  const team = workers?.map((one) => one.name);
  const names = inbox && team ? readWith(entity, inbox.by_entity ?? {}, team).join("\n") : "";
  useEffect(() => {
    if (!mayTalk || !isVisible || !isAtEnd || !names) return;
    for (const name of names.split("\n")) {
      latest.current(name === entity ? { entity: name, seq: last } : { entity: name });
    }
  }, [entity, last, names, isVisible, isAtEnd, mayTalk]);
  return came.place === place ? came.readTo : Infinity;
}

function useVisible(): boolean {
  const [isVisible, setVisible] = useState(document.visibilityState === "visible");
  useEffect(() => {
    const look = () => setVisible(document.visibilityState === "visible");
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  return isVisible;
}
