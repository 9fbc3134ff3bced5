"""A person's input, parsed as a command: send a text, answer, steer, show, quit. Pure."""

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from agiraph.core.errors import InvalidInput, unknown
from agiraph.core.ids import COORDINATOR_NAME
from agiraph.core.models import DeliveryMode
from agiraph.core.money import Period, parse_limit

EVERYONE: Final = "*"
SteerAct = Literal["pause", "step", "resume", "stop"]
Shown = Literal["board", "files", "tree", "questions", "help"]


class HelpRow(NamedTuple):
    """One line of the help: a typed form, and its effect."""

    typed: str
    effect: str


HELP: Final = (
    HelpRow("text", "send to the entity you look at, at first the coordinator"),
    HelpRow("@name text", "send to one worker"),
    HelpRow("@* text", "send to the coordinator and all workers"),
    HelpRow("/answer ID text", "answer a question"),
    HelpRow("/questions", "list the open questions"),
    HelpRow("/interrupt [@name] text", "send now: the step in progress is cancelled"),
    HelpRow("/pause [name]", "pause an entity; without a name, the whole team"),
    HelpRow("/step [name]", "let it do one step while it is paused"),
    HelpRow("/resume [name]", "resume it"),
    HelpRow("/stop [name]", "stop it in an orderly way"),
    HelpRow("/budget [5 [a day]]", "show the budget, or set it: 5 ($), 2m-tokens, none"),
    HelpRow("/board", "show the work board"),
    HelpRow("/files [path]", "show a folder or a file of the run"),
    HelpRow("/tree", "show the entities by parent"),
    HelpRow("/help", "show this help"),
    HelpRow("/quit", "leave the console; the team goes on"),
)


@dataclass(frozen=True, slots=True)
class SendMessageCommand:
    """Send text to one entity, or to all of them as `*`."""

    to: str
    text: str
    mode: DeliveryMode = "steer"


@dataclass(frozen=True, slots=True)
class AnswerCommand:
    """Answer a question."""

    question: str
    text: str


@dataclass(frozen=True, slots=True)
class SteerCommand:
    """Pause, step, resume or stop one entity; '' is the whole team."""

    act: SteerAct
    name: str


@dataclass(frozen=True, slots=True)
class BudgetCommand:
    """Show the agent's budget, or, if a limit is named, set it."""

    usd: float | Literal["none"] | None = None
    tokens: int | Literal["none"] | None = None
    period: Period = "total"

    @property
    def is_change(self) -> bool:
        """Whether the command names a limit, and so sets the budget."""
        return self.usd is not None or self.tokens is not None


@dataclass(frozen=True, slots=True)
class ShowCommand:
    """Show one part of the agent; `path` is a folder or file of the run, '' its own folder."""

    what: Shown
    path: str = ""


@dataclass(frozen=True, slots=True)
class QuitCommand:
    """Leave the console."""


Command = (
    SendMessageCommand | AnswerCommand | SteerCommand | BudgetCommand | ShowCommand | QuitCommand
)

COMMANDS: Final = tuple(sorted(row.typed[1:].split()[0] for row in HELP if row.typed[0] == "/"))
TAKE_NAMES: Final = ("pause", "step", "resume", "stop", "interrupt")


def read_line(
    line: str, open_questions: tuple[str, ...], to: str = COORDINATOR_NAME
) -> Command | None:
    """Return the command of a typed line, None for an empty line; a plain line goes to `to`.

    A plain line answers the open question if there is exactly one. A line that begins with two
    slashes is text that begins with one slash. Raises InvalidInput for an unknown command or a
    command without its text.
    """
    line = line.strip()
    if not line:
        return None
    if line.startswith("//"):
        return SendMessageCommand(to, line[1:])
    if line.startswith("/"):
        return _command(*_split(line[1:]), to)
    if line.startswith("@"):
        name, text = _split(line[1:])
        if not name or not text:
            raise InvalidInput("write @name text, or @* text for all")
        return SendMessageCommand(name, text)
    if len(open_questions) == 1:
        return AnswerCommand(open_questions[0], line)
    return SendMessageCommand(to, line)


def completions(line: str, names: tuple[str, ...]) -> list[str]:
    """Return the possible completions of `line`: commands, and names in their places."""
    head, space, rest = line.rpartition(" ")
    command = head.strip().removeprefix("/")
    if not space and line.startswith("/"):
        return [f"/{name} " for name in COMMANDS if name.startswith(line[1:].lower())]
    if not space and line.startswith("@"):
        return [f"@{name} " for name in (*names, EVERYONE) if _begins(name, line[1:])]
    if head.startswith("/") and " " not in head and command in TAKE_NAMES:
        sign = "@" if command == "interrupt" else ""
        wanted = rest.removeprefix("@")
        return [f"{head} {sign}{name} " for name in names if _begins(name, wanted)]
    return []


def _begins(name: str, beginning: str) -> bool:
    return name.casefold().startswith(beginning.casefold())


def _split(text: str) -> tuple[str, str]:
    head, _, rest = text.partition(" ")
    return head, rest.strip()


def _command(name: str, rest: str, to: str) -> Command:
    match name:
        case "answer":
            question, text = _split(rest)
            if not question or not text:
                raise InvalidInput("write /answer ID text")
            return AnswerCommand(question, text)
        case "interrupt":
            return _interrupt(rest, to)
        case "pause" | "step" | "resume" | "stop":
            return SteerCommand(name, "" if rest in ("*", "@*") else rest.removeprefix("@"))
        case "budget":
            return _budget(rest)
        case "board" | "files" | "tree" | "questions" | "help":
            return ShowCommand(name, rest if name == "files" else "")
        case "quit":
            return QuitCommand()
        case _:
            raise unknown("command", f"/{name}", [f"/{command}" for command in COMMANDS])


def _budget(text: str) -> BudgetCommand:
    words = text.casefold().split()
    is_daily = words[-2:] in (["a", "day"], ["per", "day"])
    period: Period = "day" if is_daily else "total"
    amount = " ".join(words[:-2] if is_daily else words)
    if not amount and not is_daily:
        return BudgetCommand()
    try:
        return BudgetCommand(*parse_limit(amount), period)
    except InvalidInput:
        known = "write /budget 5, /budget 2m-tokens or /budget none; add `a day`"
        raise InvalidInput(known) from None


def _interrupt(rest: str, to: str) -> SendMessageCommand:
    text = rest
    if rest.startswith("@"):
        to, text = _split(rest[1:])
    if not to or not text:
        raise InvalidInput("write /interrupt text, or /interrupt @name text")
    return SendMessageCommand(to, text, "interrupt")
