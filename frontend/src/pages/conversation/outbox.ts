// What the person has sent and the thread does not have yet. One text after the other, each under
// one Idempotency-Key however often it is tried, so that none is sent twice and none overtakes.
import { ApiError, api, keyed, newKey, type Schemas, take } from "~/api/client";

export type Body = Schemas["SendTextRequest"];

export interface Outgoing {
  readonly key: string;
  readonly agent: string;
  /** In whose conversation it was written. */
  readonly entity: string;
  readonly body: Body;
  readonly at: number;
  readonly state: "sending" | "failed" | "sent";
  readonly error: string;
  /** The message's id, once it is sent. */
  readonly id: string;
}

const WAITS_SECONDS = [0.5, 1, 2, 4, 8, 8, 8, 8];

type Send = (agent: string, body: Body, key: string) => Promise<Schemas["SentView"]>;

const send: Send = (agent, body, key) =>
  take(
    api.POST("/agents/{agent}/send", { body, params: { path: { agent }, header: keyed(key) } }),
  );

const pause = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1000));

export class Outbox {
  private all: readonly Outgoing[] = [];
  private readonly listeners = new Set<() => void>();
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly call: Send = send,
    private readonly wait: (seconds: number) => Promise<unknown> = pause,
  ) {}

  readonly get = () => this.all;

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };

  /** Send a text; resolves once it was accepted, or was given up for now. */
  add(agent: string, entity: string, body: Body): Promise<void> {
    const at = Date.now() / 1000;
    const one: Outgoing = {
      key: newKey(), agent, entity, body, at, state: "sending", error: "", id: "",
    };
    this.put([...this.all, one]);
    return this.queue(one);
  }

  retry(key: string): void {
    const one = this.all.find((other) => other.key === key);
    if (!one || one.state !== "failed") return;
    this.change(key, { state: "sending", error: "" });
    void this.queue(one);
  }

  /** Forget a text: it was given up, or the thread has it. */
  drop(...keys: string[]): void {
    if (keys.length) this.put(this.all.filter((one) => !keys.includes(one.key)));
  }

  private queue(one: Outgoing): Promise<void> {
    this.last = this.last.then(() => this.deliver(one));
    return this.last;
  }

  private async deliver({ key, agent, body }: Outgoing): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
        const sent = await this.call(agent, body, key);
        return this.change(key, { state: "sent", id: sent.id });
      } catch (error) {
        const wait = WAITS_SECONDS[attempt];
        const isPassing = error instanceof ApiError && error.isPassing;
        if (!isPassing || wait === undefined) {
          const said = error instanceof Error ? error.message : String(error);
          return this.change(key, { state: "failed", error: said });
        }
        // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
        await this.wait(wait);
      }
    }
  }

  private change(key: string, to: Partial<Outgoing>): void {
    this.put(this.all.map((one) => (one.key === key ? { ...one, ...to } : one)));
  }

  private put(all: readonly Outgoing[]): void {
    this.all = all;
    this.listeners.forEach((listener) => listener());
  }
}

export const outbox = new Outbox();
