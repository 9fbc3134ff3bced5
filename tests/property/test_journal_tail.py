"""Wherever a crash cuts a journal, the records that were whole are there, and only those."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agiraph.journal import Journal, encode_record, read_journal, split_records

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


@given(records=RECORDS, tail=st.binary(max_size=12).filter(lambda tail: b"\n" not in tail))
def test_any_rubbish_at_the_end_is_cut_and_the_journal_goes_on(
    records: list[dict[str, object]], tail: bytes
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        path.write_bytes(b"".join(map(encode_record, records)) + tail)
        with Journal(path) as journal:
            assert journal.records == records
            journal.append({"after": 1})
        assert read_journal(path) == [*records, {"after": 1}]
