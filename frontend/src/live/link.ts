// A connection that comes back by itself: what follows from what happens to it. Pure.
//
// Between two attempts it waits, each time about twice as long, with a random share so that not all
// pages come back at once. A login that has ended is found out by asking (`probe`), for a browser
// tells a page nothing of a WebSocket that was refused.

export const LONGEST_SECONDS = 20;
export const FIRST_SECONDS = 0.4;
export const STEADY_SECONDS = 5;

/** The log is of an agent that went to the archive. */
export const OVER = 1000;

export type Link =
  | { phase: "off" }
  | { phase: "connecting"; failures: number }
  | { phase: "open"; failures: number }
  | { phase: "waiting"; failures: number }
  | { phase: "offline"; failures: number }
  | { phase: "ended" }
  | { phase: "refused" };

export type LinkInput =
  | { is: "start" }
  | { is: "opened" }
  | { is: "closed"; code: number; openForSeconds: number; random: number }
  | { is: "due" }
  | { is: "offline" }
  | { is: "online" }
  /** The page is looked at again. */
  | { is: "seen" }
  /** The machine has slept: a connection that seems open may be dead. */
  | { is: "slept" }
  | { is: "refused" }
  | { is: "stop" };

export type LinkEffect =
  | { do: "connect" }
  | { do: "disconnect" }
  | { do: "probe" }
  | { do: "wait"; seconds: number };

export type LinkStep = readonly [Link, readonly LinkEffect[]];

export const OFF: Link = { phase: "off" };

const connecting = (failures: number): LinkStep => [
  { phase: "connecting", failures },
  [{ do: "connect" }],
];

export function waitSeconds(failures: number, random: number): number {
  const full = Math.min(LONGEST_SECONDS, FIRST_SECONDS * 2 ** failures);
  return full * (0.5 + random / 2);
}

export function step(link: Link, input: LinkInput): LinkStep {
  const same: LinkStep = [link, []];
  const isOver = link.phase === "off" || link.phase === "ended" || link.phase === "refused";
  switch (input.is) {
    case "start":
      return isOver ? connecting(0) : same;
    case "stop":
      return [OFF, [{ do: "disconnect" }]];
    case "refused":
      return isOver ? same : [{ phase: "refused" }, [{ do: "disconnect" }]];
    case "opened":
      return link.phase === "connecting" ? [{ phase: "open", failures: link.failures }, []] : same;
    case "closed":
      return closed(link, input);
    case "due":
      return link.phase === "waiting" ? connecting(link.failures) : same;
    case "offline":
      if (isOver || link.phase === "offline") return same;
      return [{ phase: "offline", failures: 0 }, [{ do: "disconnect" }]];
    case "online":
      return link.phase === "waiting" || link.phase === "offline" ? connecting(0) : same;
    case "seen":
      return link.phase === "waiting" ? connecting(0) : same;
    case "slept":
      if (isOver || link.phase === "offline") return same;
      return [{ phase: "connecting", failures: 0 }, [{ do: "disconnect" }, { do: "connect" }]];
  }
}

function closed(link: Link, input: LinkInput & { is: "closed" }): LinkStep {
  if (link.phase !== "connecting" && link.phase !== "open") return [link, []];
  if (link.phase === "open" && input.code === OVER) return [{ phase: "ended" }, []];
  const wasSteady = link.phase === "open" && input.openForSeconds >= STEADY_SECONDS;
  const failures = wasSteady ? 0 : link.failures;
  const seconds = waitSeconds(failures, input.random);
  return [
    { phase: "waiting", failures: failures + 1 },
    [{ do: "probe" }, { do: "wait", seconds }],
  ];
}
