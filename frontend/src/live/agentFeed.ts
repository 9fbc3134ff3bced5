// What is live of one agent, shared by all that show it: its events, and the text as it streams.
import { Batch } from "./batch";
import { connection } from "./connection";
import { type AgentEvent, withEvents } from "./eventLog";
import { LiveSocket } from "./socket";
import { NO_STREAMS, type StreamedPiece, type Streams, withoutEnded, withPieces } from "./streamed";

export const MOST_EVENTS = 5_000;
/** A page with thousands of rows is drawn anew in less. */
const EVENTS_GAP_MILLISECONDS = 120;
const TEXT_GAP_MILLISECONDS = 40;
/** How long a text that has ended is shown while its entry of the thread is on its way. */
const LINGER_MILLISECONDS = 1_500;

class Listeners<T> {
  private readonly all = new Set<(item: T) => void>();
  readonly add = (listener: (item: T) => void) => {
    this.all.add(listener);
    return () => void this.all.delete(listener);
  };
  readonly tell = (item: T) => this.all.forEach((listener) => listener(item));
}

/** The events of an agent since `after`, exact: resumed by `seq`, each once. */
export class AgentFeed {
  readonly came = new Listeners<readonly AgentEvent[]>();
  readonly changed = new Listeners<void>();
  private cursor: number;
  private recent: readonly AgentEvent[] = [];
  private readonly socket: LiveSocket;

  constructor(agent: string, after: number, isLoggedIn: () => Promise<boolean>) {
    this.cursor = after;
    const name = `events ${agent}`;
    const batch = new Batch<AgentEvent>(this.take, EVENTS_GAP_MILLISECONDS);
    this.socket = new LiveSocket({
      path: () => `/agents/${encodeURIComponent(agent)}/events?after=${this.cursor}`,
      onMessage: (message) => {
        const event = message as AgentEvent;
        if (event.seq <= this.cursor) return;
        this.cursor = event.seq;
        batch.add(event);
      },
      onLink: (link) => connection.set(name, link),
      isLoggedIn,
    });
  }

  private readonly take = (events: AgentEvent[]) => {
    this.recent = withEvents(this.recent, events, MOST_EVENTS);
    this.came.tell(events);
    this.changed.tell();
  };

  /** The events that came while this page was open, oldest first. */
  readonly events = () => this.recent;
  start(): void {
    this.socket.start();
  }
  stop(): void {
    this.socket.stop();
  }
}

/** What the models of an agent are writing; best effort. */
export class TextFeed {
  readonly changed = new Listeners<void>();
  private streams: Streams = NO_STREAMS;
  private readonly socket: LiveSocket;

  constructor(agent: string, isLoggedIn: () => Promise<boolean>) {
    const batch = new Batch<StreamedPiece>(this.take, TEXT_GAP_MILLISECONDS);
    this.socket = new LiveSocket({
      path: () => `/agents/${encodeURIComponent(agent)}/stream`,
      onMessage: (message) => batch.add(message as StreamedPiece),
      // Not told to the top bar: without it a text comes whole.
      onLink: (link) => link.phase === "open" && this.set(NO_STREAMS),
      isLoggedIn,
    });
  }

  private readonly take = (pieces: StreamedPiece[]) => {
    this.set(withPieces(this.streams, pieces));
    if (pieces.some((piece) => piece.is_end)) {
      setTimeout(() => this.set(withoutEnded(this.streams)), LINGER_MILLISECONDS);
    }
  };

  private set(streams: Streams): void {
    if (streams === this.streams) return;
    this.streams = streams;
    this.changed.tell();
  }

  readonly get = () => this.streams;
  start(): void {
    this.socket.start();
  }
  stop(): void {
    this.socket.stop();
  }
}
