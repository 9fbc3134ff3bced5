"""What a person typed, read as an act: say something, answer, steer, look, leave. Pure."""

from dataclasses import dataclass
from typing import Literal

from agiraph.core.errors import InvalidInput
from agiraph.core.ids import COORDINATOR_NAME
from agiraph.core.models import DeliveryMode
from agiraph.core.money import Period, parse_limit

HELP = """\
text                  to the coordinator; the answer, if exactly one question is open
@name text            to one worker
@* text               to the coordinator and all workers
/answer ID text       answer a question
/questions            list the open questions
/interrupt @name text say it now: what it is doing is cancelled (without @name: the coordinator)
/pause [name]         let it stand still (without a name: the whole team)
/resume [name]        let it go on
/stop [name]          stop it in an orderly way
/budget [$5 a day]    show what may be spent, or set it ($5, 2m tokens, none; a day)
/board                show the work board
/files [path]         show a folder or a file of the run
/tree                 show the entities by parent
/help                 this
/quit                 leave (the team goes on)"""

Order = Literal["pause", "resume", "stop"]


@dataclass(frozen=True, slots=True)
class SayCommand:
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
    """Pause, resume or stop one entity; '' is the whole team."""

    act: Order
    name: str


@dataclass(frozen=True, slots=True)
class BudgetCommand:
    """Show what the agent may spend, or, if a limit is named, set it."""

    usd: float | Literal["none"] | None = None
    tokens: int | Literal["none"] | None = None
    period: Period = "total"

    @property
    def is_change(self) -> bool:
        """Whether a limit is named."""
        return self.usd is not None or self.tokens is not None


@dataclass(frozen=True, slots=True)
class ShowBoardCommand:
    """Show the work board."""


@dataclass(frozen=True, slots=True)
class ShowFilesCommand:
    """Show a folder or a file of the run; '' is the run's own folder."""

    path: str


@dataclass(frozen=True, slots=True)
class ShowTreeCommand:
    """Show the entities by parent."""


@dataclass(frozen=True, slots=True)
class ShowQuestionsCommand:
    """List the open questions."""


@dataclass(frozen=True, slots=True)
class ShowHelpCommand:
    """Say what can be typed."""


@dataclass(frozen=True, slots=True)
class QuitCommand:
    """Leave."""


Act = (
    SayCommand
    | AnswerCommand
    | SteerCommand
    | BudgetCommand
    | ShowBoardCommand
    | ShowFilesCommand
    | ShowTreeCommand
    | ShowQuestionsCommand
    | ShowHelpCommand
    | QuitCommand
)

COMMANDS = (
    "answer", "board", "budget", "files", "help", "interrupt", "pause", "questions", "quit",
    "resume", "stop", "tree",
)  # fmt: skip
ORDERS: tuple[Order, ...] = ("pause", "resume", "stop")
TAKE_NAMES = (*ORDERS, "interrupt")


def read_line(line: str, open_questions: tuple[str, ...], to: str = COORDINATOR_NAME) -> Act | None:
    """Return what a typed line asks for, None for an empty one; a plain line goes to `to`.

    Raises InvalidInput for an unknown command or one that lacks its text. A line that begins with
    two slashes is text that begins with one.
    """
    line = line.strip()
    if not line:
        return None
    if line.startswith("//"):
        return SayCommand(to, line[1:])
    if line.startswith("/"):
        return _command(*_split(line[1:]), to)
    if line.startswith("@"):
        name, text = _split(line[1:])
        if not name or not text:
            raise InvalidInput("write @name text, or @* text for all")
        return SayCommand(name, text)
    if len(open_questions) == 1:
        return AnswerCommand(open_questions[0], line)
    return SayCommand(to, line)


def completions(line: str, names: tuple[str, ...]) -> list[str]:
    """Return the lines that `line` may become: commands, and names where a name is meant."""
    head, space, rest = line.rpartition(" ")
    command = head.strip().removeprefix("/")
    if not space and line.startswith("/"):
        return [f"/{name} " for name in COMMANDS if name.startswith(line[1:].lower())]
    if not space and line.startswith("@"):
        return [f"@{name} " for name in (*names, "*") if _fits(name, line[1:])]
    if head.startswith("/") and " " not in head and command in TAKE_NAMES:
        sign = "@" if command == "interrupt" else ""
        wanted = rest.removeprefix("@")
        return [f"{head} {sign}{name} " for name in names if _fits(name, wanted)]
    return []


def _fits(name: str, beginning: str) -> bool:
    return name.casefold().startswith(beginning.casefold())


def _split(text: str) -> tuple[str, str]:
    head, _, rest = text.partition(" ")
    return head, rest.strip()


def _command(name: str, rest: str, to: str) -> Act:
    match name:
        case "answer":
            question, text = _split(rest)
            if not question or not text:
                raise InvalidInput("write /answer ID text")
            return AnswerCommand(question, text)
        case "interrupt":
            return _interruption(rest, to)
        case "pause" | "resume" | "stop":
            return SteerCommand(name, "" if rest in ("*", "@*") else rest.removeprefix("@"))
        case "board":
            return ShowBoardCommand()
        case "budget":
            return _budget(rest)
        case "files":
            return ShowFilesCommand(rest)
        case "tree":
            return ShowTreeCommand()
        case "questions":
            return ShowQuestionsCommand()
        case "help":
            return ShowHelpCommand()
        case "quit":
            return QuitCommand()
        case _:
            known = ", ".join(f"/{command}" for command in COMMANDS)
            raise InvalidInput(f"unknown command '/{name}' (known: {known})")


def _budget(text: str) -> BudgetCommand:
    words = text.casefold().split()
    is_daily = words[-2:] in (["a", "day"], ["per", "day"])
    period: Period = "day" if is_daily else "total"
    amount = " ".join(words[:-2] if is_daily else words)
    if not amount and not is_daily:
        return BudgetCommand()
    if amount == "none":
        return BudgetCommand("none", "none", period)
    if "$" in amount or "dollar" in amount or amount.endswith("usd"):
        return BudgetCommand(usd=parse_limit(amount, "usd"), period=period)
    if "token" not in amount:
        raise InvalidInput(
            "write /budget $5, /budget 2m tokens or /budget none, and `a day` or not"
        )
    tokens = parse_limit(amount, "tokens")
    return BudgetCommand(tokens="none" if tokens == "none" else int(tokens), period=period)


def _interruption(rest: str, to: str) -> SayCommand:
    text = rest
    if rest.startswith("@"):
        to, text = _split(rest[1:])
    if not to or not text:
        raise InvalidInput("write /interrupt text, or /interrupt @name text")
    return SayCommand(to, text, "interrupt")
