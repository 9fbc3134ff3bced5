"""Conversations made of little: records in the order in which a loop would append them."""

from agiraph.agent.records import (
    CallFinished,
    ConversationCompacted,
    InputReceived,
    MemoryFlushStarted,
    ModelAnswered,
)
from agiraph.agent.transcript import Transcript
from agiraph.core.turns import ToolCall, ToolTurn, Turn, Usage


def heard(transcript: Transcript, text: str, from_name: str = "runtime") -> None:
    """Let something be heard."""
    shown = text if from_name == "runtime" else f"[Message from {from_name}]: {text}"
    transcript.apply(InputReceived(content=shown, from_name=from_name, ts=0))


def worked(
    transcript: Transcript,
    *results: tuple[str, str],
    text: str | None = None,
    usage: Usage | None = None,
    window: int | None = None,
    **arguments: object,
) -> None:
    """Let the model make calls, (tool, result) each, and have them answered."""
    position = transcript.position
    calls = tuple(
        ToolCall(id=f"c{position}-{n}", name=name, arguments=dict(arguments))
        for n, (name, _) in enumerate(results)
    )
    said = ModelAnswered(text=text, tool_calls=calls, usage=usage or Usage(), window=window, ts=0)
    transcript.apply(said)
    for call, (name, result) in zip(calls, results, strict=True):
        transcript.apply(CallFinished(call_id=call.id, name=name, content=result, ts=0))


def flushed(transcript: Transcript, *tools: str) -> None:
    """Let the runtime ask to save things, and the model do so."""
    transcript.apply(MemoryFlushStarted(content="[Runtime]: save", ts=0))
    worked(transcript, *((tool, "written") for tool in tools), path="memory/a.md")


def anew(
    turns: tuple[Turn, ...], digest: tuple[str, ...] = (), summary: str = ""
) -> ConversationCompacted:
    """Return the record of a compaction."""
    return ConversationCompacted(
        turns=turns,
        digest=digest,
        summary=summary,
        cause="full",
        tokens_before=0,
        tokens_after=0,
        ts=0,
    )


def are_whole(turns: tuple[Turn, ...] | list[Turn]) -> bool:
    """Whether every call has its result right behind it, and every result its call."""
    open_calls: list[str] = []
    for turn in turns:
        if isinstance(turn, ToolTurn):
            if turn.call_id not in open_calls:
                return False
            open_calls.remove(turn.call_id)
            continue
        if open_calls:
            return False
        if turn.role == "assistant":
            open_calls = [call.id for call in turn.tool_calls]
    return not open_calls
