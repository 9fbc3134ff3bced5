// A WebSocket that comes back by itself: the edge of `link.ts`, with timers and the browser.
import { type Link, type LinkEffect, type LinkInput, OFF, step } from "./link";

const BEAT_MILLISECONDS = 5_000;
const SLEPT_MILLISECONDS = 25_000;

export interface SocketOptions {
  /** The path with the cursor from which to go on; asked for at each attempt. */
  path: () => string;
  onMessage: (message: unknown) => void;
  onLink: (link: Link) => void;
  /** Whether the browser is still logged in: false leads to the login page. */
  isLoggedIn: () => Promise<boolean>;
  make?: (url: string) => WebSocket;
}

export class LiveSocket {
  private link: Link = OFF;
  private socket: WebSocket | null = null;
  private openedAt = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private beat: ReturnType<typeof setInterval> | undefined;
  private lastBeat = 0;

  constructor(private readonly options: SocketOptions) {}

  start(): void {
    window.addEventListener("online", this.onOnline);
    window.addEventListener("offline", this.onOffline);
    document.addEventListener("visibilitychange", this.onVisible);
    this.lastBeat = Date.now();
    this.beat = setInterval(this.onBeat, BEAT_MILLISECONDS);
    this.take({ is: "start" });
  }

  stop(): void {
    window.removeEventListener("online", this.onOnline);
    window.removeEventListener("offline", this.onOffline);
    document.removeEventListener("visibilitychange", this.onVisible);
    clearInterval(this.beat);
    this.take({ is: "stop" });
  }

  private readonly onOnline = () => this.take({ is: "online" });
  private readonly onOffline = () => this.take({ is: "offline" });
  private readonly onVisible = () => {
    if (document.visibilityState !== "visible") return;
    this.onBeat();
    this.take({ is: "seen" });
  };
  private readonly onBeat = () => {
    const now = Date.now();
    // A page in the background is woken once a minute; only a visible one can tell that it slept.
    const isLate = now - this.lastBeat > SLEPT_MILLISECONDS + (document.hidden ? 60_000 : 0);
    this.lastBeat = now;
    if (isLate) this.take({ is: "slept" });
  };

  private take(input: LinkInput): void {
    const [next, effects] = step(this.link, input);
    const isChanged = next !== this.link;
    this.link = next;
    if (next.phase !== "waiting") clearTimeout(this.timer);
    for (const effect of effects) this.carryOut(effect);
    if (isChanged) this.options.onLink(next);
  }

  private carryOut(effect: LinkEffect): void {
    switch (effect.do) {
      case "connect":
        return this.connect();
      case "disconnect":
        return this.disconnect();
      case "wait":
        this.timer = setTimeout(() => this.take({ is: "due" }), effect.seconds * 1000);
        return;
      case "probe":
        void this.options.isLoggedIn().then((isIn) => {
          if (!isIn) this.take({ is: "refused" });
        });
    }
  }

  private connect(): void {
    const make = this.options.make ?? ((url: string) => new WebSocket(url));
    const socket = make(window.location.origin.replace(/^http/, "ws") + this.options.path());
    this.socket = socket;
    socket.onopen = () => {
      if (socket !== this.socket) return;
      this.openedAt = Date.now();
      this.take({ is: "opened" });
    };
    socket.onmessage = (event: MessageEvent<string>) => {
      if (socket === this.socket) this.options.onMessage(JSON.parse(event.data));
    };
    socket.onclose = (event) => {
      if (socket !== this.socket) return;
      this.socket = null;
      const openForSeconds = this.openedAt ? (Date.now() - this.openedAt) / 1000 : 0;
      this.openedAt = 0;
      const random = Math.random();
      this.take({ is: "closed", code: event.code, openForSeconds, random });
    };
  }

  private disconnect(): void {
    const socket = this.socket;
    this.socket = null;
    this.openedAt = 0;
    socket?.close(1000);
  }
}
