"""What a person typed, read as an act: say something, answer, look at the board, leave."""

from dataclasses import dataclass

from agiraph.errors import InvalidInput
from agiraph.ids import COORDINATOR_NAME

HELP = """\
text              to the coordinator; the answer, if exactly one question is open
@name text        to one worker
@* text           to the coordinator and all workers
/answer ID text   answer a question
/questions        list the open questions
/board            show the work board
/help             this
/quit             leave (the team goes on)"""


@dataclass(frozen=True, slots=True)
class Say:
    """Send text to one entity, or to all of them as `*`."""

    to: str
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer a question."""

    question: str
    text: str


@dataclass(frozen=True, slots=True)
class ShowBoard:
    """Show the work board."""


@dataclass(frozen=True, slots=True)
class ShowQuestions:
    """List the open questions."""


@dataclass(frozen=True, slots=True)
class ShowHelp:
    """Say what can be typed."""


@dataclass(frozen=True, slots=True)
class Quit:
    """Leave."""


Act = Say | Answer | ShowBoard | ShowQuestions | ShowHelp | Quit

COMMANDS = ("answer", "board", "help", "questions", "quit")


def read_line(line: str, open_questions: tuple[str, ...]) -> Act | None:
    """Return what a typed line asks for, None for an empty one.

    Raises InvalidInput for an unknown command or one that lacks its text. A line that begins with
    two slashes is text that begins with one.
    """
    line = line.strip()
    if not line:
        return None
    if line.startswith("//"):
        return Say(COORDINATOR_NAME, line[1:])
    if line.startswith("/"):
        return _command(*_split(line[1:]))
    if line.startswith("@"):
        name, text = _split(line[1:])
        if not name or not text:
            raise InvalidInput("write @name text, or @* text for all")
        return Say(name, text)
    if len(open_questions) == 1:
        return Answer(open_questions[0], line)
    return Say(COORDINATOR_NAME, line)


def _split(text: str) -> tuple[str, str]:
    head, _, rest = text.partition(" ")
    return head, rest.strip()


def _command(name: str, rest: str) -> Act:
    match name:
        case "answer":
            question, text = _split(rest)
            if not question or not text:
                raise InvalidInput("write /answer ID text")
            return Answer(question, text)
        case "board":
            return ShowBoard()
        case "questions":
            return ShowQuestions()
        case "help":
            return ShowHelp()
        case "quit":
            return Quit()
        case _:
            known = ", ".join(f"/{command}" for command in COMMANDS)
            raise InvalidInput(f"unknown command '/{name}' (known: {known})")
