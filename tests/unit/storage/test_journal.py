"""The journal: appended records stay, a torn tail is removed, a damaged middle is reported."""

import errno
import os
import subprocess
from pathlib import Path

import pytest

from agiraph.core.errors import Corrupt
from agiraph.storage.disk_space import waiting
from agiraph.storage.files import replace_file
from agiraph.storage.journal import (
    Journal,
    JournalPosition,
    encode_record,
    read_journal,
    read_on,
    split_records,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "journal.jsonl"


def test_appended_records_are_read_back(path: Path) -> None:
    with Journal(path) as first:
        assert first.append({"a": 1}, {"b": "zwei ü\n"}) == 2
        assert first.append() == 2
        assert read_journal(path) == [{"a": 1}, {"b": "zwei ü\n"}]
    with Journal(path) as again:
        assert again.records == [{"a": 1}, {"b": "zwei ü\n"}]
        assert again.append({"c": 3}) == 3
    assert read_journal(path)[-1] == {"c": 3}


def test_a_journal_is_for_its_owner_alone(path: Path) -> None:
    Journal(path).close()
    assert path.stat().st_mode & 0o077 == 0


def test_missing_journal_has_no_records(path: Path) -> None:
    assert read_journal(path) == []


A = encode_record({"a": 1})
B = encode_record({"b": 2})


def test_record_is_json_with_a_checksum() -> None:
    assert A == b'{"a":1,"crc":"a702fc6e"}\n'
    assert encode_record({}) == b'{"crc":"15d54739"}\n'
    assert split_records(A + encode_record({})) == ([{"a": 1}, {}], len(A) + 19)


def test_journal_without_checksums_is_continued_with_them(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b'{"old":1}\n{"old":2}\n')
    with Journal(path) as opened:
        opened.append({"new": 3})
    assert read_journal(path) == [{"old": 1}, {"old": 2}, {"new": 3}]
    with path.open("ab") as file:
        file.write(b'{"without":"a checksum"}\n')
    with pytest.raises(Corrupt, match="is damaged"):
        read_journal(path)


def test_torn_tail_is_cut_and_writing_continues(path: Path) -> None:
    with Journal(path) as first:
        first.append({"a": 1})
    with path.open("ab") as file:
        file.write(b'{"torn": "by a cr')
    assert read_journal(path) == [{"a": 1}]
    with Journal(path) as again:
        assert again.records == [{"a": 1}]
        again.append({"b": 2})
    assert path.read_bytes() == A + B


@pytest.mark.parametrize("tail", [b"\0\0\0\0\n", b'{"b":\0\0,"crc":"00000000"}\n'])
def test_blocks_that_never_reached_the_disk_count_as_torn(path: Path, tail: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(A + tail)
    with Journal(path) as opened:
        assert opened.records == [{"a": 1}]
    assert path.read_bytes() == A


DEEP = b"[" * 200_000
BAD = [b"nonsense", b"[1]", b"", b"\xff\xfe", b'{"a":', DEEP, b'{"b":3,"crc":"%b"}' % B[-11:-3]]


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
@pytest.mark.parametrize("after", [b"", B])
def test_damaged_record_is_named_by_offset_and_the_file_moved_aside(
    path: Path, bad: bytes, after: bytes
) -> None:
    path.parent.mkdir()
    content = A + bad + b"\n" + after
    path.write_bytes(content)
    with pytest.raises(Corrupt, match=rf"journal.jsonl: the record at byte {len(A)} is damaged"):
        read_journal(path)
    assert path.read_bytes() == content, "only its writer moves a journal"
    with pytest.raises(Corrupt, match=rf"the record at byte {len(A)} is damaged"):
        Journal(path)
    found = {file.name.partition(".jsonl")[2].partition("-")[0]: file for file in _files(path)}
    assert found.keys() == {"", ".corrupt", ".good"}
    assert found[".corrupt"].read_bytes() == content
    assert found[".good"].read_bytes() == A


def test_a_damaged_journal_is_refused_until_a_person_has_decided(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(A + b"nonsense\n" + B)
    told = []
    for open_it in (Journal, Journal, read_journal):
        with pytest.raises(Corrupt) as error:
            open_it(path)
        told.append(str(error.value))
    assert len(set(told)) == 1, "and nothing more is moved"
    assert len(_files(path)) == 3
    subprocess.run(told[0].partition("after it: ")[2], shell=True, check=True)
    with Journal(path) as again:
        assert again.records == [{"a": 1}]


def _files(path: Path) -> list[Path]:
    return sorted(path.parent.iterdir())


def test_only_records_after_a_mark_are_read(path: Path) -> None:
    with Journal(path) as first:
        first.append({"a": 1}, {"b": 2})
        mark = first.mark
        first.append({"c": 3})
    assert (mark.count, mark.offset) == (2, len(A + B))
    with Journal(path, since=mark) as again:
        assert (again.since, again.records, again.count) == (mark, [{"c": 3}], 3)
        end = again.mark
    with Journal(path, since=end) as at_end:
        assert (at_end.records, at_end.mark) == ([], end)


@pytest.mark.parametrize(
    "mark",
    [
        JournalPosition(1, 3, A[-18:].decode()),
        JournalPosition(1, 10**6, A[-18:].decode()),
        JournalPosition(0, 0, ""),
    ],
)
def test_mark_of_another_journal_is_ignored(path: Path, mark: JournalPosition) -> None:
    with Journal(path) as first:
        first.append({"a": 1})
    with Journal(path, since=mark) as again:
        assert (again.since, again.records) == (None, [{"a": 1}])


def test_torn_tail_and_damage_after_a_mark_are_found(path: Path) -> None:
    with Journal(path) as first:
        first.append({"a": 1})
        mark = first.mark
    path.write_bytes(A + B + b'{"torn')
    with Journal(path, since=mark) as again:
        assert again.records == [{"b": 2}]
    assert path.read_bytes() == A + B
    path.write_bytes(A + b"nonsense\n" + B)
    with pytest.raises(Corrupt, match=f"at byte {len(A)} is damaged"):
        Journal(path, since=mark)


@pytest.mark.parametrize("written", [0, 1, 9, 21])
def test_full_disk_leaves_no_torn_record(
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
            patch.setattr("agiraph.storage.journal.os.write", write)
            with pytest.raises(OSError, match="No space left"):
                opened.append({"first": "of two"}, {"second": "of two"})
        assert path.read_bytes() == A
        assert opened.append({"b": 2}) == 2
    assert read_journal(path) == [{"a": 1}, {"b": 2}]


def test_a_write_in_pieces_is_one_record(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_write = os.write
    with Journal(path) as opened, monkeypatch.context() as patch:
        patch.setattr("agiraph.storage.journal.os.write", lambda fd, data: real_write(fd, data[:3]))
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
        patch.setattr("agiraph.storage.journal.os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            replace_file(file, "never")
    assert file.read_text(encoding="utf-8") == "new ü"
    assert os.listdir(tmp_path) == ["agent.json"]


def test_unsynced_records_are_written_again_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.jsonl"
    real, failures = os.fdatasync, [True, True]

    def full(fd: int) -> None:
        if failures:
            failures.pop()
            raise OSError(errno.ENOSPC, "No space left on device")
        real(fd)

    with Journal(path) as journal:
        journal.append({"n": 0})
        monkeypatch.setattr(os, "fdatasync", full)
        journal.write({"n": 1})
        journal.write({"n": 2})
        assert not journal.try_sync()
        assert read_journal(path) == [{"n": 0}], "nothing stands there that may be lost"
        with waiting(lambda is_waiting: None):
            journal.sync()
        assert not journal.is_behind
        assert journal.append({"n": 3}) == 4
    assert failures == []
    assert read_journal(path) == [{"n": n} for n in range(4)]


def test_reader_continues_after_its_position_while_another_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.append({"n": 1}, {"n": 2})
        first = read_on(path, None)
        assert (first.records, first.are_all) == ([{"n": 1}, {"n": 2}], True)
        assert read_on(path, first.at) == ([], first.at, False)
        journal.append({"n": 3})
        with path.open("ab") as torn:
            torn.write(b'{"n":4')
        then = read_on(path, first.at)
        assert (then.records, then.are_all, then.at) == ([{"n": 3}], False, journal.mark)
    path.unlink()
    with Journal(path) as another:
        another.append({"m": 1}, {"m": 2}, {"m": 3}, {"m": 4})
        anew = read_on(path, then.at)
        assert (len(anew.records), anew.are_all) == (4, True)


def test_closed_journal_does_not_touch_a_file_with_its_old_descriptor(path: Path) -> None:
    journal = Journal(path)
    journal.write({"a": 1})
    journal.close()
    other = path.with_name("other")
    with other.open("wb", buffering=0) as file:  # it is given the number of the closed journal
        file.write(b"text")
        with pytest.raises(OSError, match="Bad file descriptor"):
            journal.sync()
        with pytest.raises(OSError, match="Bad file descriptor"):
            journal.write({"b": 2})
    assert other.read_bytes() == b"text"
