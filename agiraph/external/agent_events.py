"""Agent events: the output of an external agent as typed records, read by a driver."""

from dataclasses import dataclass, field

from agiraph.core.turns import JsonObject, Usage


@dataclass(frozen=True, slots=True)
class SessionIdReported:
    """The id with which the agent's session can be resumed.

    `is_new`: the requested session is lost, and this is a new session.
    """

    session: str
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class TextStreamed:
    """A piece of a text in progress; the complete text follows as `TextReported`."""

    text: str


@dataclass(frozen=True, slots=True)
class TextReported:
    """A complete text of the agent's model."""

    text: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class ToolUseStarted:
    """The agent started to use one of its own tools."""

    id: str
    tool: str
    arguments: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolUseEnded:
    """A tool of the agent has ended with this output."""

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
    """The usage that the agent reports since it was started: a total, not an increment."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class ProtocolOutput:
    """Bytes that the protocol must write to the agent's stdin now."""

    data: bytes


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The agent has ended its turn; `text` is its last message, `problem` why the turn failed."""

    text: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class SessionMustEnd:
    """The agent must be ended and not be started again; `problem` says why."""

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
