"""Foreign input gives the same result in any pieces; compressed data is inflated."""

import gzip
import itertools
import zlib
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.foreign.http import (
    PIECE_BYTES,
    Inflater,
    LineCount,
    is_within_origin,
    why_not_followed,
)
from agiraph.foreign.lines import END_BYTES, SHOWN_BYTES, Line, LineSplitter
from agiraph.llm.wire.sse import SseSplitter

SMALL = st.binary(max_size=300)
CUTS = st.lists(st.integers(0, 400), max_size=8)


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    bounds = [0, *sorted(place for place in places if place < len(data)), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(bounds)]


@given(
    st.lists(st.binary(max_size=60).map(lambda line: line.replace(b"\n", b"")), max_size=9), CUTS
)
def test_lines_are_the_same_for_any_split(lines: list[bytes], places: list[int]) -> None:
    splitter = LineSplitter(60)
    data = b"".join(line + b"\n" for line in lines)
    got = [line for piece in cut(data, places) for line in splitter.feed(piece)]
    assert got == [Line(line, len(line)) for line in lines]


@given(st.integers(1, 3 * SHOWN_BYTES), st.integers(1, SHOWN_BYTES))
def test_a_line_beyond_the_limit_is_known_by_its_beginning_and_size(size: int, step: int) -> None:
    limit = SHOWN_BYTES + 100
    line = (b"0123456789" * (size // 10 + 1))[:size]
    splitter = LineSplitter(limit)
    data = line + b"\nnext\n"
    first, second = [
        one for at in range(0, len(data), step) for one in splitter.feed(data[at : at + step])
    ]
    assert first.size == size
    assert first.is_whole == (size <= limit)
    assert first.data == (line if size <= limit else line[: len(first.data)])
    assert len(first.data) <= limit
    assert first.end == (b"" if size <= limit else line[-END_BYTES:])
    assert second == Line(b"next", 4)


@given(
    st.lists(st.tuples(SMALL, st.sampled_from([b"\n\n", b"\r\n\r\n", b"\n\r\n"])), max_size=6),
    CUTS,
)
def test_events_are_the_same_for_any_split(
    events: list[tuple[bytes, bytes]], places: list[int]
) -> None:
    data = b"".join(event + end for event, end in events)
    whole = [event.raw for event in SseSplitter().feed(data)]
    splitter = SseSplitter()
    pieces = [event.raw for piece in cut(data, places) for event in splitter.feed(piece)]
    assert pieces == whole
    assert b"".join(whole) == data[: len(b"".join(whole))]


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS = st.sampled_from([gzip.compress, zlib.compress, raw_deflate])


@given(SMALL, st.integers(1, 500), PACKERS, st.integers(2, 50))
def test_packed_data_is_inflated_in_small_pieces(
    data: bytes, times: int, packer: Callable[[bytes], bytes], step: int
) -> None:
    packed = packer(data * times)
    inflater = Inflater()
    got = [
        piece
        for at in range(0, len(packed), step)
        for piece in inflater.pieces(packed[at : at + step])
    ]
    assert b"".join(got) == data * times
    assert all(len(piece) <= PIECE_BYTES for piece in got)


@given(st.lists(SMALL, min_size=1, max_size=4))
def test_gzip_members_are_joined_into_one_body(members: list[bytes]) -> None:
    packed = b"".join(map(gzip.compress, members))
    assert b"".join(Inflater().pieces(packed)) == b"".join(members)


@pytest.mark.parametrize(
    "location", ["http:/x", "HTTP:/x", "http:///x", "http:?x", "http:/\\evil/x", "http:////evil/x"]
)
def test_a_location_without_a_host_is_refused(location: str) -> None:
    """HTTP clients send a request for it to port 80 of the same host."""
    assert not is_within_origin("http://127.0.0.1:8080/v1", location)


@given(st.text(max_size=40))
def test_any_location_is_checked_without_an_error(location: str) -> None:
    url = "https://api.example.com/v1/messages"
    if is_within_origin(url, location):
        assert not location.startswith(("http:", "//evil", "ftp:"))
    assert "is not followed" in why_not_followed(url, location)


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n"]), max_size=60), CUTS)
def test_lines_are_counted_for_any_split(parts: list[bytes], places: list[int]) -> None:
    data = b"".join(parts)
    lines = len(data.splitlines())

    def is_exceeded(most: int) -> bool:
        count = LineCount(most)
        return any(count.is_exceeded_by(piece) for piece in cut(data, places))

    assert not is_exceeded(lines)
    assert lines < 2 or is_exceeded((lines - 1) // 2 - 1)
