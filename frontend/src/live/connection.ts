// How the page stands with the gateway: what the top bar says, quietly.
import { useSyncExternalStore } from "react";

import type { Link } from "./link";

export type ConnectionState = "connecting" | "live" | "reconnecting" | "offline" | "loggedOut";

/** Return how the page stands, from the links that are in use. */
export function connectionOf(links: Iterable<Link>): ConnectionState {
  const all = Array.from(links);
  const phases = new Set(all.map((link) => link.phase));
  if (phases.has("refused")) return "loggedOut";
  if (phases.has("offline")) return "offline";
  if (phases.has("waiting")) return "reconnecting";
  const isAgain = all.some((link) => link.phase === "connecting" && link.failures > 0);
  if (isAgain) return "reconnecting";
  return phases.has("connecting") || !phases.has("open") ? "connecting" : "live";
}

class ConnectionStore {
  private readonly links = new Map<string, Link>();
  private readonly listeners = new Set<() => void>();
  private state: ConnectionState = "connecting";

  readonly get = () => this.state;

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };

  set(name: string, link: Link | null): void {
    if (link === null || link.phase === "off" || link.phase === "ended") this.links.delete(name);
    else this.links.set(name, link);
    const state = connectionOf(this.links.values());
    if (state === this.state) return;
    this.state = state;
    this.listeners.forEach((listener) => listener());
  }
}

export const connection = new ConnectionStore();

export const useConnection = (): ConnectionState =>
  useSyncExternalStore(connection.subscribe, connection.get);
