"""The journal: what was appended stands, a torn tail goes, a bad middle is told."""

import errno
import os
from pathlib import Path

import pytest

from agiraph.errors import Corrupt
from agiraph.journal import Journal, append_lines, read_journal, replace_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "journal.jsonl"


def test_what_was_appended_is_read_back(path: Path) -> None:
    with Journal(path) as first:
        assert first.append({"a": 1}, {"b": "zwei ü\n"}) == 2
        assert first.append() == 2
        assert read_journal(path) == [{"a": 1}, {"b": "zwei ü\n"}]
    with Journal(path) as again:
        assert list(again) == again.records == [{"a": 1}, {"b": "zwei ü\n"}]
        assert again.append({"c": 3}) == 3
    assert read_journal(path)[-1] == {"c": 3}


def test_a_journal_is_for_its_owner_alone(path: Path) -> None:
    Journal(path).close()
    assert path.stat().st_mode & 0o077 == 0


def test_no_journal_has_no_records(path: Path) -> None:
    assert read_journal(path) == []


def test_a_torn_tail_is_cut_and_writing_goes_on(path: Path) -> None:
    with Journal(path) as first:
        first.append({"a": 1})
    with path.open("ab") as file:
        file.write(b'{"torn": "by a cr')
    assert read_journal(path) == [{"a": 1}]
    with Journal(path) as again:
        assert again.records == [{"a": 1}]
        again.append({"b": 2})
    assert path.read_bytes() == b'{"a":1}\n{"b":2}\n'


@pytest.mark.parametrize("tail", [b"\0\0\0\0\n", b"[1]\n", b"nonsense\n", b"\n", b"\xff\n"])
def test_a_last_line_that_is_no_object_counts_as_torn(path: Path, tail: bytes) -> None:
    with Journal(path) as first:
        first.append({"a": 1})
    with path.open("ab") as file:
        file.write(tail)
    with Journal(path) as again:
        assert again.records == [{"a": 1}]
    assert path.read_bytes() == b'{"a":1}\n'


@pytest.mark.parametrize("bad", [b"nonsense", b"[1]", b"", b"\xff\xfe", b'{"a":'])
def test_a_bad_line_in_the_middle_is_told_with_file_and_offset(path: Path, bad: bytes) -> None:
    path.parent.mkdir()
    content = b'{"a":1}\n' + bad + b'\n{"b":2}\n'
    path.write_bytes(content)
    with pytest.raises(Corrupt, match=r"journal.jsonl: the record at byte 8 is not a JSON object"):
        Journal(path)
    with pytest.raises(Corrupt, match="at byte 8"):
        read_journal(path)
    assert path.read_bytes() == content, "a corrupt journal is left as it is, to be looked at"


@pytest.mark.parametrize("written", [0, 1, 9, 21])
def test_a_full_disk_leaves_no_torn_record(
    path: Path, written: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_write = os.write
    left = written

    def write(fd: int, data: bytes) -> int:
        nonlocal left
        if left == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        done = real_write(fd, data[:left])
        left -= done
        return done

    with Journal(path) as opened:
        opened.append({"a": 1})
        with monkeypatch.context() as patch:
            patch.setattr("agiraph.journal.os.write", write)
            with pytest.raises(OSError, match="No space left"):
                opened.append({"first": "of two"}, {"second": "of two"})
        assert path.read_bytes() == b'{"a":1}\n'
        assert opened.append({"b": 2}) == 2
    assert read_journal(path) == [{"a": 1}, {"b": 2}]


def test_a_write_in_pieces_is_one_record(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_write = os.write
    with Journal(path) as opened, monkeypatch.context() as patch:
        patch.setattr("agiraph.journal.os.write", lambda fd, data: real_write(fd, data[:3]))
        opened.append({"long": "x" * 50})
    assert read_journal(path) == [{"long": "x" * 50}]


def test_a_file_is_replaced_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "agent.json"
    replace_file(file, "old")
    replace_file(file, "new ü")
    assert file.read_text(encoding="utf-8") == "new ü"

    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("agiraph.journal.os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            replace_file(file, "never")
    assert file.read_text(encoding="utf-8") == "new ü"
    assert os.listdir(tmp_path) == ["agent.json"]


def test_traces_are_appended_as_lines(tmp_path: Path) -> None:
    trace = tmp_path / "deep" / "log.jsonl"
    append_lines(trace, [{"a": 1}])
    append_lines(trace, [{"b": 2}, {"c": 3}])
    assert read_journal(trace) == [{"a": 1}, {"b": 2}, {"c": 3}]
