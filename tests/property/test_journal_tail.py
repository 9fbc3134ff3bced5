"""After a crash at any byte of a journal, exactly its complete records are there."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.errors import Corrupt
from agiraph.storage.journal import Journal, encode_record, read_journal, split_records

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)
RECORDS = st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), max_size=6)


@given(records=RECORDS, data=st.data())
def test_a_tail_cut_at_any_byte_loses_only_the_torn_record(
    records: list[dict[str, object]], data: st.DataObject
) -> None:
    whole = b"".join(encode_record(record) for record in records)
    cut = data.draw(st.integers(0, len(whole)))
    ends = [len(b"".join(map(encode_record, records[:n]))) for n in range(len(records) + 1)]
    kept = max(n for n, end in enumerate(ends) if end <= cut)
    assert split_records(whole[:cut]) == (records[:kept], ends[kept])


@given(records=RECORDS.filter(bool), data=st.data())
def test_flipped_byte_is_reported_and_later_records_are_not_lost(
    records: list[dict[str, object]], data: st.DataObject
) -> None:
    whole = bytearray(b"".join(encode_record(record) for record in records))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        path.write_bytes(whole)
        if place == len(whole) - 1 or (whole[place] == 0 and b"\n" not in whole[place:-1]):
            with Journal(path) as journal:
                assert journal.records == records[:-1], "it looks like a torn tail"
            return
        with pytest.raises(Corrupt) as told:
            Journal(path)
        begun = max(n + 1 for n in range(-1, place) if n < 0 or whole[n] == ord("\n"))
        assert f"at byte {begun} is damaged" in str(told.value)
        assert path.with_name(_aside(folder)).read_bytes() == whole


def _aside(folder: str) -> str:
    return next(name for name in os.listdir(folder) if ".corrupt-" in name)


@given(records=RECORDS, tail=st.binary(max_size=12).filter(lambda tail: b"\n" not in tail))
def test_garbage_at_the_end_is_cut_and_the_journal_continues(
    records: list[dict[str, object]], tail: bytes
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        path.write_bytes(b"".join(map(encode_record, records)) + tail)
        with Journal(path) as journal:
            assert journal.records == records
            journal.append({"after": 1})
        assert read_journal(path) == [*records, {"after": 1}]
