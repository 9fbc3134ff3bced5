"""Event replay: the events that follow from a conversation's last records; pure.

An event waits in its process until the router has it, so a killed process may lose its last events.
They follow from the recorded steps, and each has a key: the next incarnation reports the last
records again, and the recorder drops known events.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agiraph.agent.records import (
    AssignmentTaken,
    CallFinished,
    CallStarted,
    ConversationCompacted,
    ConversationRecord,
    InputReceived,
    LimitReached,
    LoopDetected,
    MemoryFlushStarted,
    ModelAnswered,
    NodeClosed,
    PlanMade,
    RunBegan,
)
from agiraph.agent.transcript import RUNTIME_NAME
from agiraph.core.turns import JsonObject, ToolCall

ENDS = re.compile(r"\[(?:exit code (-?\d+)|killed by signal (\d+))\]$")
STEP = re.compile(
    r"([^:]+):(?:model\.answered|tool\.called|tool\.result):(?:([0-9a-f]+)-)?(\d+)(?:\.\d+)?"
)
"""The keys of events that each step has."""

RECORDS_REPLAYED = 24
"""How many records an incarnation reports again: the few steps that may have been in progress."""


@dataclass(frozen=True, slots=True)
class ReplayedEvent:
    """One event: its type, its data, its key, and when it happened (Unix time)."""

    type: str
    data: JsonObject
    key: str
    ts: float

    @property
    def report(self) -> tuple[str, JsonObject, str]:
        """The arguments of `LoopEntity.report` for this event: type, data and key."""
        return self.type, self.data, self.key


def event_key(address: str, event: str, key: str) -> str:
    """Return the key of an entity's event; `key` names its cause, for example its step."""
    return f"{address}:{event}:{key}"


def step_in(key: str) -> tuple[str, str, int] | None:
    """Return the address, epoch and position of the step that an `event_key` names.

    None for the key of another event.
    """
    found = STEP.fullmatch(key)
    return (found[1], found[2] or "", int(found[3])) if found else None


def answered(said: ModelAnswered, place: str) -> ReplayedEvent:
    """Return the event of a model's answer, the step at `place`."""
    data = {
        "model": said.model,
        "text": said.text or "",
        "calls": [call.name for call in said.tool_calls],
        "asked_at": said.asked_at,
        **({} if said.tool_calls or said.interrupted else {"message": said.message}),
        **({"call": said.call} if said.call else {}),
        **({"interrupted": True} if said.interrupted else {}),
        **said.usage.model_dump(),
    }
    return ReplayedEvent("model.answered", data, place, said.ts)


def called(call: ToolCall, key: str, ts: float) -> ReplayedEvent:
    """Return the event of a call that begins; `key` is the key of its step."""
    data: JsonObject = {"tool": call.name, "call": call.id, "arguments": call.arguments}
    if call.malformed is not None:
        data["malformed"] = call.malformed
    return ReplayedEvent("tool.called", data, key, ts)


def returned(finished: CallFinished, key: str) -> ReplayedEvent:
    """Return the event of a call's result; `key` is the key of its step."""
    data = {
        "tool": finished.name,
        "call": finished.call_id,
        "is_error": finished.is_error,
        "characters": len(finished.content),
        "preview": finished.content[:300],
    }
    if (code := exit_code(finished.name, finished.content)) is not None:
        data["exit_code"] = code
    return ReplayedEvent("tool.result", data, key, finished.ts)


def exit_code(tool: str, result: str) -> int | None:
    """Return the exit code at the end of a shell's result; below 0: the signal that ended it."""
    ended = ENDS.search(result) if tool == "bash" else None
    if ended is None:
        return None
    return int(ended[1]) if ended[1] is not None else -int(ended[2])


def message_received(message: str, record: InputReceived) -> ReplayedEvent:
    """Return the event of a message that entered the conversation; its key is the bus id."""
    data = {"from": record.from_name, "id": message}
    return ReplayedEvent("message.received", data, message, record.ts)


def loop_warned(seen: LoopDetected, place: str) -> ReplayedEvent:
    """Return the event of a loop warning to the model, the step at `place`."""
    data = {"call": seen.call, "count": seen.count}
    return ReplayedEvent("tool.loop", data, place, seen.ts)


def noticed(record: ConversationRecord, place: str) -> ReplayedEvent | None:
    """Return the event of a text that the runtime added at step `place`; None for other records."""
    match record:
        case LoopDetected():
            return loop_warned(record, place)
        case AssignmentTaken():
            data: JsonObject = {"name": record.assignment.node.name, "content": record.content}
        case InputReceived(from_name=name, message=None) if name == RUNTIME_NAME:
            data = {"content": record.content}
        case LimitReached() | MemoryFlushStarted():
            data = {"content": record.content}
        case PlanMade():
            data = {"content": record.text}
        case _:
            return None
    return ReplayedEvent("message.notice", data, place, record.ts)


def compacted(
    record: ConversationCompacted, place: str, more: Mapping[str, int] | None = None
) -> ReplayedEvent:
    """Return the event of a compaction, the step at `place`.

    `more` are further fields of its data.
    """
    data = {
        "cause": record.cause,
        "tokens_before": record.tokens_before,
        "tokens_after": record.tokens_after,
        "turns_after": len(record.turns),
        "summary": record.summary,
        **(more or {}),
    }
    return ReplayedEvent("memory.compacted", data, place, record.ts)


def replayed_events(lately: Iterable[tuple[str, ConversationRecord]]) -> list[ReplayedEvent]:
    """Return the events to report again for the last steps (name, record) of the current work."""
    events: list[ReplayedEvent] = []
    calls: dict[str, tuple[ToolCall, str]] = {}
    for place, record in lately:
        if isinstance(record, AssignmentTaken | RunBegan | NodeClosed):
            events, calls = [], {}
        if (notice := noticed(record, place)) is not None:
            events.append(notice)
        match record:
            case ModelAnswered():
                events.append(answered(record, place))
                calls = {
                    call.id: (call, f"{place}.{index}")
                    for index, call in enumerate(record.tool_calls)
                }
            case CallStarted() if record.call_id in calls:
                events.append(called(*calls[record.call_id], record.ts))
            case CallFinished() if record.call_id in calls:
                events.append(returned(record, calls[record.call_id][1]))
            case InputReceived() if record.message is not None and not record.trigger:
                events.append(message_received(record.message, record))
            case ConversationCompacted():
                events.append(compacted(record, place))
            case _:
                pass
    return events
