// What was seen of a conversation is read, once one looks at it.
import { useEffect, useRef, useState } from "react";

import { useMarkRead } from "~/api/actions";
import { api, take } from "~/api/client";
import { useInbox } from "~/api/queries";
import type { ConversationMessage } from "~/api/stretches";
import { HUMAN } from "./items";
import { readUpTo } from "./rows";

const PREFIX = "agiraph.seen.";

/** The newest `seq` that was seen in a conversation, kept in this browser. */
const seenIn = (place: string): number => Number(localStorage.getItem(PREFIX + place) ?? 0);

/** Return up to where it was read when one came, and have what is seen marked as read. */
export function useReading(
  agent: string,
  entity: string,
  messages: readonly ConversationMessage[],
  isAtEnd: boolean,
): number {
  const inbox = useInbox().data?.find((one) => one.agent === agent || one.agent_name === agent);
  const mark = useMarkRead(agent, { onError: () => undefined });
  const isVisible = useVisible();
  const place = `${agent}/${entity}`;
  const [came, setCame] = useState({ place: "", readTo: Infinity });
  if (came.place !== place && inbox) setCame({ place, readTo: Math.max(inbox.read_to, seenIn(place)) });

  const { act } = mark;
  const latest = useRef(act);
  useEffect(() => {
    latest.current = act;
  });
  const last = messages.findLast((message) => message.from !== HUMAN)?.seq ?? 0;
  const readTo = inbox?.read_to;
  const unread = inbox?.unread ?? 0;
  useEffect(() => {
    if (!isVisible || !isAtEnd || readTo === undefined || !unread || last <= readTo) return;
    localStorage.setItem(PREFIX + place, String(Math.max(seenIn(place), last)));
    let isOn = true;
    const params = { path: { agent }, query: { after: readTo, limit: 1000 } };
    void take(api.GET("/agents/{agent}/conversation", { params }))
      .then(({ messages: all }) => {
        const upTo = readUpTo(all, (one) => one.seq <= seenIn(`${agent}/${one.from}`));
        if (isOn && upTo !== null) latest.current(upTo);
      })
      .catch(() => undefined);
    return () => {
      isOn = false;
    };
  }, [agent, place, last, readTo, unread, isVisible, isAtEnd]);
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
