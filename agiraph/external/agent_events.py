"""Agent events: what can be seen of an outside agent while it works, as typed records."""

from dataclasses import dataclass, field

from agiraph.core.turns import JsonObject, Usage


@dataclass(frozen=True, slots=True)
class SessionIdReported:
    """The agent told the id under which its conversation can be taken up again.

    `is_anew`: it is another one, for the one that it should have taken up is lost.
    """

    session: str
    is_anew: bool = False


@dataclass(frozen=True, slots=True)
class TextStreamed:
    """A piece of text that it is writing right now; the whole comes later as `TextReported`."""

    text: str


@dataclass(frozen=True, slots=True)
class TextReported:
    """It said something to whoever listens."""

    text: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class ToolUseStarted:
    """It began to use one of its own tools."""

    id: str
    tool: str
    arguments: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolUseEnded:
    """One of its tools has ended; `output` is what the tool gave it."""

    id: str
    output: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class PermissionRequested:
    """It asks whether it may use a tool, and waits for `Driver.answer` under this request."""

    request: str
    tool: str
    arguments: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UsageReported:
    """What it says that it has used since it was started: a total, not a step."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class ProtocolOutput:
    """Bytes that the protocol wants written to its stdin now."""

    data: bytes


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """It has finished what it was told so far; `text` is its last word.

    `problem` says why it could not (''  if it could). A driver that is two-way may be told more.
    """

    text: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class SessionMustEnd:
    """It must not go on, and starting it again would not help; `problem` says why."""

    problem: str


Happening = (
    SessionIdReported
    | TextStreamed
    | TextReported
    | ToolUseStarted
    | ToolUseEnded
    | PermissionRequested
    | UsageReported
    | ProtocolOutput
    | TurnEnded
    | SessionMustEnd
)
