"""The screen of a run on a terminal: a bottom line, and a prompt that holds other lines back."""

import io
import os
import re
import sys
from collections.abc import Iterator

import pytest

from cli.console.event_text import EventLine
from cli.run.screen import TerminalScreen
from cli.sanitize import cells


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A stdin that the test types into."""
    reader, writer = os.pipe()
    with os.fdopen(reader) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield writer
    try:
        os.close(writer)
    except OSError:
        pass  # the test has closed it


def test_plain_lines_off_a_terminal() -> None:
    out = io.StringIO()
    screen = TerminalScreen(out, is_live=False)
    screen.status("never seen")
    screen.line(EventLine("alice", "works on tables"))
    assert out.getvalue() == "alice          works on tables\n"


def test_status_line_stays_below_new_lines() -> None:
    out = io.StringIO()
    screen = TerminalScreen(out, is_live=True)
    screen.status("12 tokens")
    screen.line(EventLine("alice", "works"))
    assert out.getvalue().index("works") < out.getvalue().rindex("12 tokens")
    screen.close()
    assert out.getvalue().endswith("\r\x1b[K")


def test_table_stays_above_the_status_line_and_is_erased() -> None:
    out = io.StringIO()
    screen = TerminalScreen(out, is_live=True)
    screen.status("1 s", ["a -> b  1x", "turn 2: b"])
    assert re.sub(r"\x1b\[\d*[mKJA]", "", out.getvalue()) == "\ra -> b  1x\nturn 2: b\n1 s"
    out.truncate(0)
    screen.line(EventLine("b", "works"))
    shown = out.getvalue().lstrip("\0")
    assert shown.startswith("\r\x1b[2A\x1b[J"), "up to the first line of three"
    assert shown.index("works") < shown.index("a -> b") < shown.index("1 s")
    out.truncate(0)
    screen.prompt("your answer> ")
    assert "a -> b" not in out.getvalue(), "a prompt takes its place"
    screen.end_prompt()
    screen.status("2 s")
    screen.close()
    assert out.getvalue().endswith("\r\x1b[K")


def test_a_table_that_is_higher_than_the_terminal_shows_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LINES", "5")
    out = io.StringIO()
    TerminalScreen(out, is_live=True).status("1 s", [f"row {number}" for number in range(9)])
    assert "row 5" not in out.getvalue()
    assert "row 6" in out.getvalue()


def test_prompt_delays_lines_until_it_is_answered(keyboard: int) -> None:
    out = io.StringIO()
    screen = TerminalScreen(out, is_live=True)
    screen.prompt("your answer> ")
    screen.line(EventLine("alice", "works"))
    assert screen.typed() is None
    assert "works" not in out.getvalue()
    os.write(keyboard, b"  SQLite \n")
    assert screen.typed() == "SQLite"
    assert "works" in out.getvalue()
    assert not screen.is_prompting


def test_a_closed_input_ends_the_prompt(keyboard: int) -> None:
    screen = TerminalScreen(io.StringIO(), is_live=True)
    screen.prompt("your answer> ")
    os.close(keyboard)
    with pytest.raises(EOFError):
        screen.typed()
    assert not screen.is_prompting


def test_terminal_line_is_cut_by_cells_unless_it_wraps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out = io.StringIO()
    screen = TerminalScreen(out, is_live=True)
    wide = "目標" * 40
    screen.status(wide)
    screen.line(EventLine("alice", wide, fits=True))
    screen.line(EventLine("数据", "fails: " + wide, "bad"))
    shown = re.sub(r"\x1b\[\d*[mK]", "", out.getvalue()).replace("\r", "\n").split("\n")
    status, line, whole = next(o for o in shown if o), *(o for o in shown if "  " in o)
    assert (cells(status), cells(line)) == (39, 38)
    assert status == "目標" * 9 + "目…"
    assert line == "alice          " + "目標" * 5 + "目…"
    assert whole == "数据           fails: " + wide


def test_escape_sequences_of_a_model_do_not_reach_the_terminal() -> None:
    out = io.StringIO()
    TerminalScreen(out, is_live=False).line(EventLine("eve\x1b[2J", "hi\x1b]52;c;Zm9v\x07"))
    assert "\x1b" not in out.getvalue()


def test_closed_reader_does_not_end_the_run() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as out:
        screen = TerminalScreen(out, is_live=False)
        screen.note("the first line finds no reader")
        screen.note("nor does the second one")
        screen.close()
