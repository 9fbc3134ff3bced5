"""The parsing of typed lines."""

import pytest

from agiraph.core.errors import InvalidInput
from cli.console.commands import (
    AnswerCommand,
    BudgetCommand,
    Command,
    QuitCommand,
    SendMessageCommand,
    ShowCommand,
    read_line,
)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("  How far?  ", SendMessageCommand("coordinator", "How far?")),
        ("@ada only the tables", SendMessageCommand("ada", "only the tables")),
        ("@* publish now", SendMessageCommand("*", "publish now")),
        ("/answer q-1 Use SQLite", AnswerCommand("q-1", "Use SQLite")),
        ("/board", ShowCommand("board")),
        ("/questions", ShowCommand("questions")),
        ("/budget", BudgetCommand()),
        ("/budget $2.50", BudgetCommand(usd=2.5)),
        ("/budget 5", BudgetCommand(usd=5)),
        ("/budget 40k-tokens", BudgetCommand(tokens=40_000)),
        ("/budget 5 dollars a day", BudgetCommand(usd=5, period="day")),
        ("/budget 2m tokens per day", BudgetCommand(tokens=2_000_000, period="day")),
        ("/budget none", BudgetCommand(usd="none", tokens="none")),
        ("/files nodes/a", ShowCommand("files", "nodes/a")),
        ("/help", ShowCommand("help")),
        ("/quit", QuitCommand()),
        ("//quit is no command", SendMessageCommand("coordinator", "/quit is no command")),
        ("   ", None),
    ],
)
def test_typed_line_is_parsed_into_its_command(line: str, command: Command | None) -> None:
    assert read_line(line, ()) == command


def test_a_plain_line_answers_the_only_open_question() -> None:
    assert read_line("SQLite", ("q-1",)) == AnswerCommand("q-1", "SQLite")
    assert read_line("@ada hi", ("q-1",)) == SendMessageCommand("ada", "hi")
    assert read_line("SQLite", ("q-1", "q-2")) == SendMessageCommand("coordinator", "SQLite")


@pytest.mark.parametrize(
    "line",
    [
        "@ada",
        "@",
        "@ text",
        "/answer",
        "/answer q-1",
        "/dance",
        "/",
        "/budget 5k",
        "/budget a day",
        "/budget much $",
    ],
)
def test_incomplete_line_is_refused_with_the_possible_values(line: str) -> None:
    with pytest.raises(InvalidInput, match=r"write|known|possible"):
        read_line(line, ())
