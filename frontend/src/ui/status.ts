// How statuses look: a sign and a tone for each, those of the command line and the console. Pure.

export type Tone = "good" | "busy" | "ask" | "bad" | "quiet";

export interface Look {
  readonly sign: string;
  readonly tone: Tone;
}

const LOOKS: Readonly<Record<string, Look>> = {
  busy: { sign: "●", tone: "busy" },
  working: { sign: "●", tone: "busy" },
  running: { sign: "●", tone: "busy" },
  ready: { sign: "○", tone: "good" },
  idle: { sign: "○", tone: "good" },
  parked: { sign: "○", tone: "quiet" },
  pending: { sign: "○", tone: "quiet" },
  planning: { sign: "○", tone: "quiet" },
  starting: { sign: "◌", tone: "quiet" },
  assigned: { sign: "◌", tone: "busy" },
  reconvening: { sign: "◌", tone: "busy" },
  waiting_for_nodes: { sign: "…", tone: "quiet" },
  waiting_for_message: { sign: "…", tone: "quiet" },
  standing_still: { sign: "!", tone: "bad" },
  waiting_for_room: { sign: "…", tone: "bad" },
  waiting_for_service: { sign: "…", tone: "bad" },
  blocked: { sign: "…", tone: "quiet" },
  waiting_for_human: { sign: "?", tone: "ask" },
  paused: { sign: "‖", tone: "ask" },
  backing_off: { sign: "◌", tone: "bad" },
  stopping: { sign: "■", tone: "quiet" },
  stopped: { sign: "■", tone: "quiet" },
  finished: { sign: "■", tone: "quiet" },
  cancelled: { sign: "■", tone: "quiet" },
  skipped: { sign: "■", tone: "quiet" },
  retired: { sign: "■", tone: "quiet" },
  completed: { sign: "✓", tone: "good" },
  away: { sign: "…", tone: "ask" },
  lost: { sign: "✗", tone: "bad" },
  failed: { sign: "✗", tone: "bad" },
};

export const lookOf = (status: string): Look => LOOKS[status] ?? { sign: "·", tone: "quiet" };

export const STATUSES = Object.keys(LOOKS);

/** Whether somebody with this status has left, or will do nothing more. */
export const isRetired = (status: string): boolean =>
  status === "stopped" || status === "finished" || status === "retired";
