"""Lines of external agents: long ones are read, those beyond the limit or the depth left out."""

import json

from agiraph.core.record import NESTING
from agiraph.external.text import LINE_BYTES, JsonLinesReader


def test_a_line_of_many_megabytes_is_read_whole_and_once() -> None:
    value = {"text": "x" * 10_000_000}
    line = json.dumps(value).encode() + b"\n"
    reader = JsonLinesReader()
    pieces = (line[at : at + 65536] for at in range(0, len(line), 65536))
    assert [found for piece in pieces for found in reader.objects(piece)] == [value]


def test_line_beyond_the_limit_is_skipped() -> None:
    reader = JsonLinesReader()
    piece = b" " * (1 << 20)
    for _ in range(LINE_BYTES // len(piece) + 1):
        assert reader.objects(piece) == []
    assert reader.objects(b'\n{"a": 1}\n') == [{"a": 1}]
    assert f"at most {LINE_BYTES}" in reader.noise


def test_line_that_cannot_be_stored_is_skipped() -> None:
    reader = JsonLinesReader()
    for levels in (NESTING + 1, 100_000):
        assert reader.objects(b'{"a":' * levels + b"1" + b"}" * levels + b"\n") == []
    assert reader.objects(b'{"a": 1' + b"0" * 30 + b"}\n") == []
    levels = NESTING
    assert reader.objects(b'{"a":' * levels + b"1" + b"}" * levels + b"\n")
