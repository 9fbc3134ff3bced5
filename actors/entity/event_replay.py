"""Event replay: a new incarnation reports what the last one may have taken with it."""

from collections.abc import Callable

from actors.runtime.runtime import Runtime
from agiraph.agent.conversation import Conversation
from agiraph.agent.event_replay import TOLD_AGAIN, told_again
from agiraph.core.models import Event
from agiraph.core.turns import JsonObject

MakeEvent = Callable[[str, JsonObject, str], Event]


def tell_again(runtime: Runtime, conversation: Conversation, event_of: MakeEvent) -> None:
    """Report the last records of the work in hand once more; what is known is not told twice."""
    for telling in told_again(conversation.lately(TOLD_AGAIN)):
        event = event_of(*telling.told)
        runtime.report(event.model_copy(update={"ts": telling.ts}))
