"""Decoding and inflating: any bytes make some text, and never more than is allowed."""

import gzip
import zlib

from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.errors import Refused
from agiraph.tools.web.decoding import Decompressor, decoded

CHARSETS = st.sampled_from(
    ["", "utf-8", "iso-8859-1", "utf-16", "shift_jis", "x-none", "base64", "rot13", "idna", "\x00"]
)


@given(st.binary(max_size=200), CHARSETS, st.booleans())
def test_any_bytes_make_some_text(body: bytes, charset: str, is_markup: bool) -> None:
    text = decoded(body, charset, is_markup=is_markup)
    assert "\0" not in text
    assert "\r" not in text


@given(st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=100))
def test_utf8_is_read_without_being_told(text: str) -> None:
    if not text.startswith("\N{ZERO WIDTH NO-BREAK SPACE}"):
        assert decoded(text.encode()) == text


@given(st.binary(max_size=3000), st.integers(1, 2000), st.integers(1, 400), st.booleans())
def test_inflating_in_pieces_gives_the_beginning_of_the_body(
    body: bytes, limit: int, size: int, is_gzip: bool
) -> None:
    raw = gzip.compress(body) if is_gzip else zlib.compress(body)
    inflater = Decompressor("gzip" if is_gzip else "deflate", limit)
    plain = b"".join(inflater.feed(raw[at : at + size]) for at in range(0, len(raw), size))
    assert plain == body[:limit]
    assert inflater.is_full == (len(body) > limit)


@given(st.binary(min_size=1, max_size=200), st.integers(1, 500))
def test_any_bytes_are_inflated_or_refused(raw: bytes, limit: int) -> None:
    inflater = Decompressor("deflate", limit)
    try:
        assert len(inflater.feed(raw)) <= limit
    except Refused:
        pass
