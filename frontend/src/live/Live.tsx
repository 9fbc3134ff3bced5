// What is live, for components: the changes of the home, and the feeds of the agent on screen.
import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import {
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
} from "react";

import { isUnauthenticated } from "~/api/client";
import { ofAgent, ofHome } from "~/api/keys";
import { whoAmIQuery } from "~/api/access";
import { agentQuery, entitiesQuery, overviewQuery } from "~/api/queries";
import { refresh } from "~/api/stretches";
import { AgentFeed, TextFeed } from "./agentFeed";
import { type Change, keysOf, keysOfChange } from "./concerns";
import { connection, useConnection } from "./connection";
import type { AgentEvent } from "./eventLog";
import { Refresher } from "./refresher";
import { LiveSocket } from "./socket";
import { NO_STREAMS, type StreamedText } from "./streamed";

const POLL_MILLISECONDS = 10_000;

function useLoginCheck(): () => Promise<boolean> {
  const client = useQueryClient();
  return useMemo(
    () => () =>
      client
        .fetchQuery({ ...whoAmIQuery, staleTime: 0, retry: false })
        .then(() => true)
        .catch((error: unknown) => !isUnauthenticated(error)),
    [client],
  );
}

/** The page's one: an agent on screen is told of by the changes of the home, too. */
const RefresherContext = createContext<Refresher | null>(null);

function useNewRefresher(): Refresher {
  const client = useQueryClient();
  const refresher = useMemo(() => new Refresher((key) => refresh(client, key)), [client]);
  useEffect(() => () => refresher.stop(), [refresher]);
  return refresher;
}

/** Follow the changes of the home for as long as this is on the page. */
export function HomeLive({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const refresher = useNewRefresher();
  const isLoggedIn = useLoginCheck();
  useEffect(() => {
    let seen: Map<string, number> | null = null;
    const take = (change: Change) => {
      refresher.add(keysOfChange(change, seen));
      seen ??= new Map();
      if (change.kind === "home") {
        for (const [agent, seq] of Object.entries(change.agents)) seen.set(agent, seq);
      } else if (change.kind === "events") seen.set(change.agent, change.seq);
      else if (change.kind === "entity") {
        putActivity(client, change);
        refresher.add([ofHome("overview")]);
        if (change.agent) refresher.add([ofAgent(change.agent, "workers")]);
      }
    };
    const socket = new LiveSocket({
      path: () => "/changes",
      onMessage: (message) => take(message as Change),
      onLink: (link) => connection.set("changes", link),
      isLoggedIn,
    });
    socket.start();
    return () => socket.stop();
  }, [client, refresher, isLoggedIn]);
  usePolling(refresher);
  return <RefresherContext value={refresher}>{children}</RefresherContext>;
}

/** Show at once what an entity does; its status follows when it is asked for. */
function putActivity(client: QueryClient, change: Change & { kind: "entity" }): void {
  const { address, state, step, doing, doing_since } = change;
  client.setQueryData(entitiesQuery.queryKey, (rows) =>
    rows?.map((row) => (row.address === address ? { ...row, state, step, doing, doing_since } : row)),
  );
  const isCoordinator = address === `${change.agent}/coordinator`;
  client.setQueryData(overviewQuery.queryKey, (teams) =>
    teams?.map((team) => {
      if (team.id !== change.agent) return team;
      if (isCoordinator) return { ...team, doing, doing_since };
      const workers = team.workers.map((worker) =>
        worker.address === address ? { ...worker, step, doing, doing_since } : worker,
      );
      return { ...team, workers };
    }),
  );
}

/** While nothing is heard, what is on screen is asked for now and then. */
function usePolling(refresher: Refresher): void {
  const isLive = useConnection() === "live";
  useEffect(() => {
    if (isLive) return;
    const timer = setInterval(() => refresher.add([["home"], ["agent"]]), POLL_MILLISECONDS);
    return () => clearInterval(timer);
  }, [isLive, refresher]);
}

interface AgentLiveValue {
  agent: string;
  feed: AgentFeed | null;
  texts: TextFeed;
}

const AgentLiveContext = createContext<AgentLiveValue | null>(null);

/** Follow one agent: its events keep what is shown of it true. */
export function AgentLive({ agent, children }: { agent: string; children: ReactNode }) {
  const refresher = useContext(RefresherContext);
  if (!refresher) throw new Error("no <HomeLive> above");
  const isLoggedIn = useLoginCheck();
  const { data } = useQuery(agentQuery(agent));
  // Where to begin: the log as it was when this agent was first looked at. What comes later moves on.
  const [from, setFrom] = useState<{ id: string; after: number } | null>(null);
  if (data && from?.id !== data.id) setFrom({ id: data.id, after: data.last_event });
  const feed = useMemo(
    () => from && new AgentFeed(from.id, from.after, isLoggedIn),
    [from, isLoggedIn],
  );
  const texts = useMemo(() => new TextFeed(agent, isLoggedIn), [agent, isLoggedIn]);

  useEffect(() => {
    if (!feed) return;
    const leave = feed.came.add((events) => {
      refresher.add(keysOf(agent, new Set(events.map((event) => event.type))));
    });
    feed.start();
    return () => {
      leave();
      feed.stop();
    };
  }, [agent, feed, refresher]);

  useEffect(() => {
    texts.start();
    return () => texts.stop();
  }, [texts]);

  const value = useMemo(() => ({ agent, feed, texts }), [agent, feed, texts]);
  return <AgentLiveContext value={value}>{children}</AgentLiveContext>;
}

function useAgentLive(): AgentLiveValue {
  const value = useContext(AgentLiveContext);
  if (!value) throw new Error("no <AgentLive> above");
  return value;
}

const NO_EVENTS: readonly AgentEvent[] = [];
const stay = () => () => undefined;

/** The events of the agent on screen that came since the page was opened, oldest first. */
export function useEvents(): readonly AgentEvent[] {
  const { feed } = useAgentLive();
  return useSyncExternalStore(feed?.changed.add ?? stay, feed?.events ?? (() => NO_EVENTS));
}

/** Have `listener` called with the events of the agent on screen as they come. */
export function useEventListener(listener: (events: readonly AgentEvent[]) => void): void {
  const { feed } = useAgentLive();
  useEffect(() => feed?.came.add(listener), [feed, listener]);
}

/** What the model of an entity (by its name) of the agent on screen is writing right now. */
export function useStreamedText(entity: string): StreamedText | null {
  const { texts } = useAgentLive();
  const streams = useSyncExternalStore(texts.changed.add, texts.get, () => NO_STREAMS);
  return streams.get(entity) ?? null;
}
