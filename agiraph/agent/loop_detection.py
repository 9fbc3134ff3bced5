"""Loop detection: an entity that repeats the same call with the same result; pure.

Consecutive answers with the same calls, arguments and results are counted (several equal calls in
one answer count each). The count is reset by any other call, and when the entity receives a message
or a notification of the board. A call that was interrupted, by a message or a crash, is no evidence
either way and also resets it. Messages of the runtime itself (reminders, this warning) do not reset
it.

The count is a part of the transcript, folded from the journal, so it survives a restart.
`judge_loop` is called before every model call.
"""

import hashlib
import json
from dataclasses import dataclass, replace

from agiraph.agent.records import CallFinished, LoopDetected
from agiraph.core.turns import ToolCall

LIMIT = 3
SHOWN_CHARACTERS = 200
CUT_OFF = "[interrupted]"
WOKEN = '"interrupted_by_message": true'

WARNING = (
    "[Runtime]: You have made the same call with the same result {count} times in a row: {shown}. "
    "The result will not change. Read it and change the call, try another approach, or report "
    "the obstacle. If you continue like this, {end}."
)


@dataclass(frozen=True, slots=True)
class RepeatedCalls:
    """The number of equal last answers; `warned_at` is the count at the warning to the model.

    `pending` are the signatures of an answer's finished calls while others are still open.
    """

    signature: str = ""
    shown: str = ""
    count: int = 0
    warned_at: int = 0
    pending: tuple[str, ...] = ()
    is_new: bool = False

    def reset(self) -> "RepeatedCalls":
        """Return the empty streak, after the entity has received a new message."""
        return RepeatedCalls(pending=self.pending, is_new=bool(self.pending))

    def warned(self, count: int) -> "RepeatedCalls":
        """Return the streak with the warning recorded at `count` equal answers."""
        return replace(self, warned_at=count)

    def called(self, call: ToolCall, result: CallFinished, *, is_last: bool) -> "RepeatedCalls":
        """Return the streak after a finished call.

        `is_last`: no other call of its answer is open.
        """
        mine = _signature(call, result)
        is_new = self.is_new or _is_news(result)
        running = replace(self, pending=(*self.pending, mine), is_new=is_new)
        return running._closed(_shown(call)) if is_last else running

    def _closed(self, shown: str) -> "RepeatedCalls":
        if self.is_new:
            return RepeatedCalls()
        kinds = sorted(set(self.pending))
        signature = " ".join(kinds)
        times = len(self.pending) if len(kinds) == 1 else 1
        if signature != self.signature:
            return RepeatedCalls(signature=signature, shown=shown, count=times)
        return RepeatedCalls(signature, shown, self.count + times, self.warned_at)


@dataclass(frozen=True, slots=True)
class LoopWarning:
    """The decision to warn the model that it repeats itself."""

    count: int
    shown: str

    def record(self, end: str, now: float) -> LoopDetected:
        """Return the record of the warning; `end` describes the consequence of further repeats."""
        content = WARNING.format(count=self.count, shown=self.shown, end=end)
        return LoopDetected(count=self.count, call=self.shown, content=content, ts=now)


@dataclass(frozen=True, slots=True)
class LoopStuck:
    """The decision to end an entity that repeats itself after the warning."""

    reason: str


def judge_loop(streak: RepeatedCalls, *, patience: int = 0) -> LoopWarning | LoopStuck | None:
    """Return a warning, an end, or None for a streak that may continue.

    `patience` is the number of repeats allowed after the warning.
    """
    if streak.count < LIMIT:
        return None
    if not streak.warned_at:
        return LoopWarning(streak.count, streak.shown)
    if streak.count > streak.warned_at + patience:
        return LoopStuck(
            f"a loop: the same call with the same result {streak.count} times in a row, even after "
            f"a warning: {streak.shown}"
        )
    return None


def _signature(call: ToolCall, result: CallFinished) -> str:
    said = json.dumps(call.arguments, sort_keys=True, ensure_ascii=True, default=str)
    parts = (call.name, said, call.malformed or "", str(result.is_error), result.content)
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def _is_news(result: CallFinished) -> bool:
    """Whether a result shows a message, was ended by a message, or was interrupted."""
    return (
        bool(result.messages)
        or (result.is_error and result.content.startswith(CUT_OFF))
        or (result.name in ("wait", "create_work_node") and WOKEN in result.content)
    )


def _shown(call: ToolCall) -> str:
    said = call.malformed or json.dumps(call.arguments, ensure_ascii=False, default=str)
    cut = f"{said[:SHOWN_CHARACTERS]}..." if len(said) > SHOWN_CHARACTERS else said
    return f"{call.name}({cut})"
