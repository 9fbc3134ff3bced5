"""The context window: how full a model's window is, and when to shorten the conversation. Pure.

The usage is the provider's own count of the last call (input and answer), plus an estimate of the
turns added since. If no count is known, all of it is estimated: a token for every three bytes,
which is more than text of any language needs, times the ratio of the last known count to its
estimate.

A decision is made before every model call:

- `flush`: the window is nearly full; the entity gets a few turns to save important information.
- `compact`: replace the conversation by a shorter one (`compaction`).
- None: there is room.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from agiraph.agent.transcript import Transcript
from agiraph.core.turns import (
    AssistantTurn,
    JsonObject,
    ToolSchema,
    Turn,
    encoded_length,
)

BYTES_PER_TOKEN = 3
TOKENS_PER_TURN = 8
TOKENS_PER_CALL = 12
FLUSH_TURNS = 2
BRIM = 0.92
"""The share of the window above which no turn that only saves information fits."""
LARGEST_SCALE = 4.0
LEAST_SCALE = 0.25
"""A count below this share of the estimate cannot be true: no text has twelve bytes per token."""
LONG_TOKENS = 40_000
LEAST_ROOM = 2000
LARGEST_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class WindowUsage:
    """How full a window is, in tokens; `fixed` is the part of system prompt and tools in `used`."""

    used: int
    fixed: int
    window: int


def estimate_text(text: str) -> int:
    """Return an upper estimate of the tokens of a text."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def estimate_turn(turn: Turn) -> int:
    """Return an upper estimate of the tokens of a turn."""
    if not isinstance(turn, AssistantTurn):
        seen = sum(one.tokens for one in turn.pictures)
        return TOKENS_PER_TURN + estimate_text(turn.content) + seen
    size = TOKENS_PER_TURN + estimate_text(turn.text or "")
    for call in turn.tool_calls:
        size += TOKENS_PER_CALL + estimate_text(call.name) + _estimate_object(call.arguments)
    return size + (_estimate_object(turn.provider_data) if turn.provider_data else 0)


def estimate_turns(turns: Iterable[Turn]) -> int:
    """Return an upper estimate of the tokens of these turns together."""
    return sum(map(estimate_turn, turns))


def estimate_fixed(system: str, tools: Sequence[ToolSchema]) -> int:
    """Return an upper estimate of the tokens of a system prompt and tools."""
    size = estimate_text(system)
    for tool in tools:
        size += TOKENS_PER_CALL + estimate_text(tool.name + tool.description)
        size += _estimate_object(tool.parameters)
    return size


def _estimate_object(value: JsonObject) -> int:
    return -(-encoded_length(value) // BYTES_PER_TOKEN)


def fill_of(
    transcript: Transcript,
    fixed: int,
    window: int,
    *,
    counted: int | None = None,
    estimate: int = 0,
) -> WindowUsage:
    """Return how full `window` is.

    `fixed` is the estimated size of system prompt and tools; `counted`, if known, their size by the
    model's own tokenizer. They are never larger than the provider's whole count. A count far below
    the `estimate` of the counted turns (`CountedTurns`) is replaced by that estimate.
    """
    scale = transcript.window.scale
    total = transcript.window.tokens
    if 0 < total < LEAST_SCALE * estimate:
        total = estimate
    added = round(estimate_turns(transcript.turns[transcript.window.turns :]) * scale)
    share = round(fixed * scale) if counted is None else counted
    share = min(share, total) if total else share
    return WindowUsage((total or share) + added, share, window)


class CountedTurns:
    """An estimate of the turns that a provider has counted, in tokens.

    Some services report a constant, or only the part of the input that was not in their cache. Each
    turn is estimated once.
    """

    def __init__(self) -> None:
        self._turns = self._estimate = self._compactions = 0

    def estimate(self, transcript: Transcript, fixed: int) -> int:
        """Return an upper estimate of the tokens of system prompt, tools and counted turns."""
        known = transcript.window
        if known.turns < self._turns or known.compactions != self._compactions:
            self._turns = self._estimate = 0
            self._compactions = known.compactions
        self._estimate += estimate_turns(transcript.turns[self._turns : known.turns])
        self._turns = known.turns
        return fixed + self._estimate


def is_long(turns: Sequence[Turn]) -> bool:
    """Whether a conversation is so long that an unknown refusal may be due to its length."""
    return estimate_turns(turns) >= LONG_TOKENS


def scale_of(transcript: Transcript, fixed: int) -> float:
    """Return the factor that corrects estimates: the provider's last count by its estimate.

    `fixed` is the estimate of system prompt and tools, in tokens.
    """
    if not transcript.window.tokens:
        return transcript.window.scale
    guess = fixed + estimate_turns(transcript.turns[: transcript.window.turns])
    return min(LARGEST_SCALE, max(1.0, transcript.window.tokens / max(1, guess)))


def decide(
    transcript: Transcript, fill: WindowUsage, *, share: float, can_flush: bool
) -> Literal["flush", "compact"] | None:
    """Return the action to take before the model call; no call may be open.

    `share` is the usable part of the window (0 to 1); `can_flush`: the entity has a tool to save
    information.
    """
    is_at_brim = fill.used >= BRIM * fill.window
    if transcript.is_flushing:
        is_done = transcript.window.flush_turns >= FLUSH_TURNS or not transcript.has_news
        return "compact" if is_done or is_at_brim else None
    if not transcript.has_news or fill.used < share * fill.window:
        return None
    is_last_turn = transcript.progress.bound is not None
    return "flush" if can_flush and not is_last_turn and not is_at_brim else "compact"


def room_for_turns(fill: WindowUsage, *, share: float) -> int:
    """Return how many tokens the turns of a new conversation may have.

    The result is half of the available tokens, so that the conversation can grow; more than half if
    half would be too little to continue.
    """
    available = int(share * fill.window - fill.fixed)
    return max(available // 2, min(LEAST_ROOM, int(LARGEST_SHARE * available)))


def window_of(transcript: Transcript, override: int | None) -> int | None:
    """Return the size of the model's window in tokens: `override`, or as reported or learned.

    None before the first answer if no size is known; a refusal then shows the size.
    """
    known = override or transcript.window.size
    learned = transcript.window.learned
    return min(known, learned) if known and learned else known or learned


def answer_tokens(transcript: Transcript, *, override: int | None, share: float, most: int) -> int:
    """Return the longest answer in tokens: `most`, or if less, the window without its `share`."""
    window = override or transcript.window.size
    return most if window is None else max(1, min(most, int(window * (1 - share))))
