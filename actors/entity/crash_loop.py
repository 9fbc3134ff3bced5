"""Fatal steps: a step that has ended its process again and again is not tried once more."""

from actors.runtime.crash_counter import LIMIT
from actors.runtime.runtime import Runtime
from agiraph.agent.conversation import Conversation
from agiraph.agent.records import CallFinished
from agiraph.agent.transcript import Transcript


def fatal_step(runtime: Runtime, transcript: Transcript) -> str:
    """Return why the step that comes next must not be tried again, '' if it may be.

    Call once a process: it counts this beginning.
    """
    attempts = runtime.attempts
    if not attempts.is_stuck_at(transcript.place):
        return ""
    return f"the same step has ended its process {LIMIT} times: {attempts.last_end}"


def answer_open_calls(conversation: Conversation, why: str, now: float) -> None:
    """Leave no call unanswered: whatever comes next continues this conversation."""
    for opened in list(conversation.transcript.open_calls):
        conversation.append(
            CallFinished(
                call_id=opened.call.id,
                name=opened.call.name,
                content=f"[interrupted] {why}",
                is_error=True,
                ts=now,
            )
        )
