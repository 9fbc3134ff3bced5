"""Decoding: any bytes make some text."""

from hypothesis import given
from hypothesis import strategies as st

from agiraph.tools.web.decoding import decoded

CHARSETS = st.sampled_from(
    ["", "utf-8", "iso-8859-1", "utf-16", "shift_jis", "x-none", "base64", "rot13", "idna", "\x00"]
)


@given(st.binary(max_size=200), CHARSETS, st.booleans())
def test_any_bytes_are_decoded(body: bytes, charset: str, is_markup: bool) -> None:
    text = decoded(body, charset, is_markup=is_markup)
    assert "\0" not in text
    assert "\r" not in text


@given(st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=100))
def test_utf8_is_decoded_without_a_declaration(text: str) -> None:
    if not text.startswith("\N{ZERO WIDTH NO-BREAK SPACE}"):
        assert decoded(text.encode()) == text
