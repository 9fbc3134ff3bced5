"""Agent events: what a driver reads out of an external agent's output, as typed records."""

from dataclasses import dataclass, field

from agiraph.core.turns import JsonObject, Usage


@dataclass(frozen=True, slots=True)
class SessionIdReported:
    """The id under which the agent's session can be resumed.

    `is_new`: another one than was asked for, because that one is lost.
    """

    session: str
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class TextStreamed:
    """A piece of text that is being written; the whole follows as `TextReported`."""

    text: str


@dataclass(frozen=True, slots=True)
class TextReported:
    """A complete text of the agent's model."""

    text: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class ToolUseStarted:
    """The agent began to use one of its own tools."""

    id: str
    tool: str
    arguments: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolUseEnded:
    """One of its tools has ended with this output."""

    id: str
    output: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class PermissionRequested:
    """The agent asks whether it may use a tool, and waits for `Driver.answer` to `request`."""

    request: str
    tool: str
    arguments: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UsageReported:
    """What the agent says that it has used since it was started: a total, not a step."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class ProtocolOutput:
    """Bytes that the protocol needs written to the agent's stdin now."""

    data: bytes


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The agent has ended its turn; `text` is its last message, `problem` why the turn failed."""

    text: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class SessionMustEnd:
    """The agent must be ended, and not be started again; `problem` says why."""

    problem: str


AgentEvent = (
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
