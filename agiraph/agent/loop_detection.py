"""Loop detection: an entity that makes the same call with the same result again and again; pure.

What is counted are answers that follow each other: each with the same calls, arguments and results
as the one before (several equal calls in one answer count each). The count begins anew when
anything else is called, and when the entity hears of something: a message, a notice of the board.
A call that was cut off, by a message or by a crash, is no evidence either way and ends it too.
What the runtime says (reminders, this warning) is nothing new and does not.

The count is a part of the transcript, so it is folded from the journal: a restart does not forget
it. `judge_loop` is asked before every model call.
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
    "[Runtime]: You have made the same call with the same result {count} times running: {shown}. "
    "It will not come out otherwise. Look at what it says and do something else: change the call, "
    "take another way, or say what stands in your way. If you go on like this, {end}."
)


@dataclass(frozen=True, slots=True)
class RepeatedCalls:
    """How often the last answers have done the same. `told` is the count the model was told of.

    `pending` are the signatures of the calls of an answer that are done while others are open.
    """

    signature: str = ""
    shown: str = ""
    count: int = 0
    told: int = 0
    pending: tuple[str, ...] = ()
    is_new: bool = False

    def heard(self) -> "RepeatedCalls":
        """Return the streak after news: it is over."""
        return RepeatedCalls(pending=self.pending, is_new=bool(self.pending))

    def warned(self, count: int) -> "RepeatedCalls":
        """Return the streak after the model was told of it."""
        return replace(self, told=count)

    def called(self, call: ToolCall, result: CallFinished, *, is_last: bool) -> "RepeatedCalls":
        """Return the streak after one call; `is_last`: no other call of that answer is open."""
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
        return RepeatedCalls(signature, shown, self.count + times, self.told)


@dataclass(frozen=True, slots=True)
class LoopWarning:
    """Tell the model that it runs in a circle."""

    count: int
    shown: str

    def record(self, end: str, now: float) -> LoopDetected:
        """Return what is journaled, and what the model is told by it; `end`: what comes of it."""
        content = WARNING.format(count=self.count, shown=self.shown, end=end)
        return LoopDetected(count=self.count, call=self.shown, content=content, ts=now)


@dataclass(frozen=True, slots=True)
class LoopStuck:
    """It was told and goes on."""

    reason: str


def judge_loop(streak: RepeatedCalls, *, patience: int = 0) -> LoopWarning | LoopStuck | None:
    """Return what is to be done; `patience`: how many repeats after the warning are borne."""
    if streak.count < LIMIT:
        return None
    if not streak.told:
        return LoopWarning(streak.count, streak.shown)
    if streak.count > streak.told + patience:
        return LoopStuck(
            f"a loop: the same call with the same result {streak.count} times running, also after "
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
    """Whether a result shows a message, was ended by one, or was cut off."""
    return (
        bool(result.messages)
        or (result.is_error and result.content.startswith(CUT_OFF))
        or (result.name in ("wait", "create_work_node") and WOKEN in result.content)
    )


def _shown(call: ToolCall) -> str:
    said = call.malformed or json.dumps(call.arguments, ensure_ascii=False, default=str)
    cut = f"{said[:SHOWN_CHARACTERS]}..." if len(said) > SHOWN_CHARACTERS else said
    return f"{call.name}({cut})"
