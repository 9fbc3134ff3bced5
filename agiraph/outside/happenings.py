"""Happenings: what can be seen of an outside agent while it works, as typed records."""

from dataclasses import dataclass, field

from agiraph.turns import JsonObject, Usage


@dataclass(frozen=True, slots=True)
class SessionKnown:
    """The agent told the id under which its conversation can be taken up again.

    `is_anew`: it is another one, for the one that it should have taken up is lost.
    """

    session: str
    is_anew: bool = False


@dataclass(frozen=True, slots=True)
class Streamed:
    """A piece of text that it is writing right now; the whole comes later as `SaidText`."""

    text: str


@dataclass(frozen=True, slots=True)
class SaidText:
    """It said something to whoever listens."""

    text: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class ToolBegan:
    """It began to use one of its own tools."""

    id: str
    tool: str
    arguments: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """One of its tools has ended; `output` is what the tool gave it."""

    id: str
    output: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class AskedLeave:
    """It asks whether it may use a tool, and waits for `Driver.answer` under this request."""

    request: str
    tool: str
    arguments: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Spent:
    """What it says that it has used since it was started: a total, not a step."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Reply:
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
class MustEnd:
    """It must not go on, and starting it again would not help; `problem` says why."""

    problem: str


Happening = (
    SessionKnown
    | Streamed
    | SaidText
    | ToolBegan
    | ToolEnded
    | AskedLeave
    | Spent
    | Reply
    | TurnEnded
    | MustEnd
)
