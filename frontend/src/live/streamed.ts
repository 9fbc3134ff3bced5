// Text as models write it: what is shown until the whole answer is in the transcript. Pure.

/** One message of `WS /agents/{agent}/stream`. */
export interface StreamedPiece {
  address: string;
  entity: string;
  call: string;
  /** How many code points of the answer came before `text`. */
  at: number;
  text: string;
  restarted: boolean;
  is_end: boolean;
  reason: string;
}

export interface StreamedText {
  readonly call: string;
  readonly text: string;
  /** How many code points `text` stands for. */
  readonly length: number;
  readonly isEnd: boolean;
  /** Pieces were lost: what is there is not the whole. */
  readonly hasGap: boolean;
  readonly reason: string;
}

export type Streams = ReadonlyMap<string, StreamedText>;
export const NO_STREAMS: Streams = new Map();

const GAP = "\n\n…\n\n";

/** Return the streams after these pieces. */
export function withPieces(streams: Streams, pieces: readonly StreamedPiece[]): Streams {
  if (!pieces.length) return streams;
  const next = new Map(streams);
  for (const piece of pieces) next.set(piece.entity, withPiece(next.get(piece.entity), piece));
  return next;
}

function withPiece(known: StreamedText | undefined, piece: StreamedPiece): StreamedText {
  const isNew = known?.call !== piece.call || piece.restarted;
  const before = isNew || !known ? { text: "", length: 0, hasGap: false } : known;
  const points = Array.from(piece.text);
  const isLost = piece.at > before.length;
  const isKnown = Math.max(0, before.length - piece.at);
  const added = isKnown ? points.slice(isKnown).join("") : piece.text;
  return {
    call: piece.call,
    text: before.text + (isLost && added ? GAP : "") + added,
    length: Math.max(before.length, piece.at + points.length),
    isEnd: piece.is_end,
    hasGap: before.hasGap || isLost,
    reason: piece.reason,
  };
}

/** Return the streams without those whose answer has come to its end. */
export function withoutEnded(streams: Streams): Streams {
  const left = Array.from(streams).filter(([, stream]) => !stream.isEnd);
  return left.length === streams.size ? streams : new Map(left);
}
