// Text as models write it: shown until the whole answer is in the thread. Pure.

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

const LOST = "\n\n…\n\n";

/** Return the streams after these pieces. */
export function withPieces(streams: Streams, pieces: readonly StreamedPiece[]): Streams {
  if (!pieces.length) return streams;
  const next = new Map(streams);
  for (const piece of pieces) next.set(piece.entity, withPiece(next.get(piece.entity), piece));
  return next;
}

/** A piece replaces what is known from its place on; if less is known, pieces were lost. */
function withPiece(known: StreamedText | undefined, piece: StreamedPiece): StreamedText {
  const isNew = known?.call !== piece.call || piece.restarted || piece.at === 0;
  const before = isNew || !known ? { text: "", length: 0, hasGap: false } : known;
  const isLost = piece.at > before.length;
  const kept =
    piece.at >= before.length ? before.text : Array.from(before.text).slice(0, piece.at).join("");
  return {
    call: piece.call,
    text: kept + (isLost && piece.text ? LOST : "") + piece.text,
    length: piece.at + Array.from(piece.text).length,
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
