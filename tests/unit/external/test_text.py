"""Lines of external agents: all that can be stored is read, and the rest is left out."""

import json

from agiraph.core.record import NESTING
from agiraph.external.text import LINE_BYTES, JsonLinesReader, amount, count, unquoted


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


def test_field_that_cannot_be_stored_is_null() -> None:
    reader = JsonLinesReader()
    for levels in (NESTING + 1, 100):
        line = b'{"id": 1, "a":' + b'{"a":' * (levels - 1) + b"1" + b"}" * levels + b"\n"
        assert reader.objects(line) == [{"id": 1, "a": None}]
    for digits in (30, 5000):
        line = b'{"id": 1, "a": [1' + b"0" * digits + b"]}\n"
        assert reader.objects(line) == [{"id": 1, "a": None}]
    assert reader.objects(b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n") == []
    levels = NESTING
    line = b'{"a":' * levels + b"1" + b"}" * levels + b"\n"
    assert reader.objects(line) == [json.loads(line)]


def test_half_of_an_emoji_is_replaced_in_keys_and_texts() -> None:
    reader = JsonLinesReader()
    line = rb'{"cut \ud83d": ["\ude00 and", {"x": "whole \ud83d\ude00"}]}' + b"\n"
    found = [{"cut \ufffd": ["\ufffd and", {"x": "whole \U0001f600"}]}]
    assert reader.objects(line) == found
    quoted = r'[API Error: {"error": {"message": "cut \ud83d"}}]'
    assert unquoted(quoted) == "cut \ufffd"


def test_implausible_number_is_not_counted() -> None:
    for given in (1e300, 1 << 63, -1, True, "1", None):
        assert (count(given), amount(given)) == (0, None)
    assert (count(12), amount(0.5)) == (12, 0.5)
