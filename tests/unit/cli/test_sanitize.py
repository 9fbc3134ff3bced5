"""Text of others on one's own terminal."""

from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from agiraph.core.naming import UNSEEN, on_one_line
from cli.sanitize import cells, fitted, one_line, printable


def test_escape_sequences_are_removed_and_text_is_kept() -> None:
    assert printable("a\x1b[31mred\x1b[0m b\x1b]0;title\x07c\x1bMd\r\nnext\ttab") == (
        "ared bcd\nnext\ttab"
    )


def test_characters_that_turn_or_hide_text_are_visible_in_the_terminal_and_on_the_page() -> None:
    assert printable("report\u202egpj.exe") == "report⟨U+202E⟩gpj.exe"
    page = Path(__file__).parents[3] / "frontend" / "src" / "ui" / "format.ts"
    assert f"const UNSEEN = /{UNSEEN.pattern}/gu;" in page.read_text(encoding="utf-8")


def test_command_below_a_comment_is_visible_in_one_line() -> None:
    command = "askme ok  # then, harmless:\n\n  EVILRUN --now\n"
    assert one_line(command) == "askme ok # then, harmless: ⏎ EVILRUN --now"
    assert on_one_line("a\u2028b\r\nc\td") == "a ⏎ b ⏎ c d"


def test_a_lone_surrogate_can_be_printed() -> None:
    printable("caf\udce9").encode("utf-8")


@given(st.text())
def test_cursor_movements_are_removed(text: str) -> None:
    shown = printable(text)
    assert all(c in "\n\t" or (c >= " " and not "\x7f" <= c <= "\x9f") for c in shown)
    shown.encode("utf-8")


@given(st.text(), st.integers(1, 50))
def test_single_line_has_the_requested_length(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert "\n" not in line
    assert len(line) <= limit


@given(st.text(), st.integers(0, 50))
@example("0\u030000", 2)
def test_a_fitted_line_takes_at_most_its_room_and_only_loses_its_end(text: str, room: int) -> None:
    line = fitted(text, room)
    assert cells(line) <= room
    assert one_line(text).startswith(line.removesuffix("…"))
    assert line == one_line(text) or len(line) == 0 or line.endswith("…")


def test_wide_character_has_two_cells_and_a_combining_one_has_none() -> None:
    assert (cells("abc"), cells("日本"), cells("e\u0301")) == (3, 4, 1)
