"""Text of others on one's own terminal."""

from hypothesis import given
from hypothesis import strategies as st

from cli.sanitize import one_line, printable


def test_escape_sequences_go_and_text_stays() -> None:
    assert printable("a\x1b[31mred\x1b[0m b\x1b]0;title\x07c\x1bMd\r\nnext\ttab") == (
        "ared bcd\nnext\ttab"
    )


def test_bidirectional_controls_go() -> None:
    assert printable("ab\u202ecd\u2066ef") == "abcdef"


def test_a_lone_surrogate_can_be_printed() -> None:
    printable("caf\udce9").encode("utf-8")


@given(st.text())
def test_nothing_that_moves_the_cursor_passes(text: str) -> None:
    shown = printable(text)
    assert all(c in "\n\t" or (c >= " " and not "\x7f" <= c <= "\x9f") for c in shown)
    shown.encode("utf-8")


@given(st.text(), st.integers(1, 50))
def test_one_line_is_one_line_of_the_asked_length(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert "\n" not in line
    assert len(line) <= limit
