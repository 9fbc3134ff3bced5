// The conversation with an entity: what was said and done, live, and a place to write.
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { useParams } from "react-router";

import type { Schemas } from "~/api/client";
import { ofAgent } from "~/api/keys";
import { useAgent, useWorkers } from "~/api/queries";
import { refresh } from "~/api/stretches";
import { ErrorNote, Loaded, Page, Skeleton, useAgentId, useKey, type VirtualListHandle } from "~/ui";
import { About, Actions } from "./Head";
import { Foot } from "./Foot";
import { COORDINATOR, type Item, type MessageItem } from "./items";
import { useName } from "./Message";
import { type Body, outbox } from "./outbox";
import { rowsOf } from "./rows";
import { wordsOf } from "./search";
import { SearchBar } from "./SearchBar";
import { Thread } from "./Thread";
import styles from "./Thread.module.css";
import { isAllKept, keepAll } from "./kept";
import { useMarked } from "./useMarked";
import { useReading } from "./useReading";
import { useSearch } from "./useSearch";
import { useThread } from "./useThread";


export default function Conversation() {
  const agent = useAgentId();
  const named = useParams()["entity"] ?? COORDINATOR;
  const view = useAgent(agent);
  const { data: workers } = useWorkers(agent);
  const isSame = (name: string) => name.toLowerCase() === named.toLowerCase();
  const worker = workers?.find((one) => isSame(one.name) || isSame(one.id));
  const isKnown = isSame(COORDINATOR) || worker !== undefined || workers !== undefined;
  return (
    <Loaded query={view} lines={6}>
      {(shown) =>
        isKnown ? (
          <Whole
            key={`${agent}/${named}`}
            agent={agent}
            view={shown}
            entity={isSame(COORDINATOR) ? COORDINATOR : (worker?.name ?? named)}
            worker={worker}
            names={[COORDINATOR, ...(workers ?? []).filter((one) => one.status !== "stopped").map((one) => one.name)]}
          />
        ) : (
          <Skeleton lines={6} />
        )
      }
    </Loaded>
  );
}

interface WholeProps {
  agent: string;
  view: Schemas["AgentView"];
  entity: string;
  worker: Schemas["WorkerView"] | undefined;
  names: readonly string[];
}

function Whole({ agent, view, entity, worker, names }: WholeProps) {
  const { t } = useTranslation("conversation");
  const [isAll, setAll] = useState(isAllKept);
  const [isAtEnd, setAtEnd] = useState(true);
  const [reply, setReply] = useState<MessageItem | null>(null);
  const list = useRef<VirtualListHandle>(null);
  const name = useName()(entity);
  const thread = useThread(agent, entity, isAll);
  const readTo = useReading(agent, entity, thread.messages, isAtEnd && !thread.isPending);
  const rows = useMemo(() => rowsOf(thread.items, readTo), [thread.items, readTo]);
  const pending = usePending(agent, entity, thread.messages);
  const show = useCallback((key: string) => list.current?.toKey(key), []);
  const keys = useMemo(() => new Set(thread.items.map((item) => item.key)), [thread.items]);
  const search = useSearch({ agent, entity, isAll, keys, thread, onShow: show });
  const frame = useRef<HTMLDivElement>(null);
  useMarked(frame, wordsOf(search.query ?? ""));
  useKey("Mod+f", t("search"), () => search.setQuery(search.query ?? ""), { isForTyping: true });
  const client = useQueryClient();
  const send = (body: Body) => {
    list.current?.toEnd();
    void outbox.add(agent, entity, body).then(() => refresh(client, ofAgent(agent, "thread")));
  };
  const answer = useCallback((item: Item) => setReply(item.is === "message" ? item : null), []);
  return (
    <Page
      title={name}
      about={<About view={view} worker={worker} />}
      actions={
        <Actions
          agent={agent}
          entity={entity}
          worker={worker}
          isAll={isAll}
          onAll={(next) => {
            keepAll(next);
            setAll(next);
          }}
          onSearch={() => search.setQuery(search.query === null ? "" : null)}
        />
      }
      isWhole
    >
      <div className={styles.whole} ref={frame}>
        {search.query !== null && (
          <SearchBar
            query={search.query}
            onQuery={search.setQuery}
            hits={search.hits}
            shown={search.found}
            isReading={search.isReading}
            onStep={search.step}
            onClose={() => search.setQuery(null)}
          />
        )}
        {thread.error !== null && <ErrorNote error={thread.error} onRetry={thread.retry} />}
        {thread.isPending && thread.error === null ? (
          <div className={styles.waiting}>
            <Skeleton lines={6} />
          </div>
        ) : (
          <Thread
            ref={list}
            rows={rows}
            pending={pending}
            agent={agent}
            entity={entity}
            found={search.query ? search.found : null}
            hasOlder={thread.hasOlder}
            onOlder={thread.loadOlder}
            onAtEnd={setAtEnd}
            onReply={answer}
          />
        )}
        <Foot
          agent={agent}
          view={view}
          entity={entity}
          worker={worker}
          names={names}
          reply={reply}
          onReply={setReply}
          onSend={send}
        />
      </div>
    </Page>
  );
}

/** What was sent from here and is not in the thread yet. */
function usePending(agent: string, entity: string, messages: readonly { id: string }[]) {
  const all = useSyncExternalStore(outbox.subscribe, outbox.get);
  const there = useMemo(() => new Set(messages.map((message) => message.id)), [messages]);
  const mine = all.filter((one) => one.agent === agent && one.entity === entity);
  const isThere = (id: string) => id !== "" && there.has(id);
  const isElsewhere = (to: string | null | undefined) => to != null && to !== entity && to !== "*";
  const over = mine.filter((one) => isThere(one.id) || (one.state === "sent" && isElsewhere(one.body.to)));
  const names = over.map((one) => one.key).join(" ");
  useEffect(() => outbox.drop(...names.split(" ").filter(Boolean)), [names]);
  return mine.filter((one) => !over.includes(one));
}
