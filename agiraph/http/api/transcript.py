"""What an entity heard, said and ran: the record that a person may look into."""

from pydantic import Field

from agiraph.core.turns import ToolCall, Usage
from agiraph.http.api.base import ApiView


class TranscriptEntryView(ApiView):
    """One record of an entity's conversation; `kind` tells which fields mean something.

    heard: text from `sender`. said: the model's text and `tool_calls`. tool.started, tool.finished:
    the call `call_id` of the tool `name`, its result in `content`. Other kinds are the runtime's.
    """

    seq: int
    kind: str
    ts: float = 0.0
    role: str = ""
    sender: str = Field(default="", alias="from")
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""
    is_error: bool = False
    interrupted: bool = False
    model: str = ""
    usage: Usage | None = None


class TranscriptPageView(ApiView):
    """A stretch of a conversation, oldest first; cursors as those of `ConversationPageView`."""

    entries: tuple[TranscriptEntryView, ...]
    next: int
    previous: int | None = None
