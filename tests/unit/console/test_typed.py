"""What a typed line asks for."""

import pytest

from actors.console.typed import (
    Act,
    Answer,
    MindBudget,
    Quit,
    Say,
    ShowBoard,
    ShowHelp,
    ShowQuestions,
    read_line,
)
from agiraph.errors import InvalidInput


@pytest.mark.parametrize(
    ("line", "act"),
    [
        ("  How far?  ", Say("coordinator", "How far?")),
        ("@ada only the tables", Say("ada", "only the tables")),
        ("@* publish now", Say("*", "publish now")),
        ("/answer q-1 Use SQLite", Answer("q-1", "Use SQLite")),
        ("/board", ShowBoard()),
        ("/questions", ShowQuestions()),
        ("/budget", MindBudget()),
        ("/budget $2.50", MindBudget(usd=2.5)),
        ("/budget 5 dollars a day", MindBudget(usd=5, period="day")),
        ("/budget 2m tokens per day", MindBudget(tokens=2_000_000, period="day")),
        ("/budget none", MindBudget(usd="none", tokens="none")),
        ("/help", ShowHelp()),
        ("/quit", Quit()),
        ("//quit is no command", Say("coordinator", "/quit is no command")),
        ("   ", None),
    ],
)
def test_lines(line: str, act: Act | None) -> None:
    assert read_line(line, ()) == act


def test_a_plain_line_answers_the_only_open_question() -> None:
    assert read_line("SQLite", ("q-1",)) == Answer("q-1", "SQLite")
    assert read_line("@ada hi", ("q-1",)) == Say("ada", "hi")
    assert read_line("SQLite", ("q-1", "q-2")) == Say("coordinator", "SQLite")


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
        "/budget 5",
        "/budget a day",
        "/budget much $",
    ],
)
def test_half_a_line_is_refused_with_what_was_possible(line: str) -> None:
    with pytest.raises(InvalidInput, match=r"write|known|possible"):
        read_line(line, ())
