"""On a full disk a write raises, or waits for room if the caller is waiting."""

import errno
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from agiraph.storage.disk_space import (
    DiskFull,
    full_message,
    has_room,
    is_full_disk,
    outlasting,
    patiently,
    waiting,
)
from agiraph.storage.files import replace_file
from agiraph.storage.journal import Journal, read_journal
from transport.errors import NotStored

FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agiraph.storage.disk_space.FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr("agiraph.storage.disk_space.LONGEST_PAUSE_SECONDS", 0.001)


def full_for(times: int) -> Callable[[], str]:
    """Return a write for which there is no room so many times."""
    left = times

    def write() -> str:
        nonlocal left
        left -= 1
        if left >= 0:
            raise FULL
        return "written"

    return write


def test_full_disk_raises_at_once_without_waiting() -> None:
    with pytest.raises(DiskFull, match="No space left") as raised:
        patiently(full_for(1))
    assert raised.value.errno == errno.ENOSPC
    assert is_full_disk(raised.value)


def test_waiting_writer_continues_when_there_is_room_and_reports_it() -> None:
    told: list[bool] = []
    with waiting(told.append):
        assert patiently(full_for(3)) == "written"
        assert patiently(full_for(0)) == "written"
        with waiting(None), pytest.raises(DiskFull):
            patiently(full_for(1))
    assert told == [True, False]
    with pytest.raises(DiskFull):
        patiently(full_for(1))


def test_other_errors_are_raised_without_waiting() -> None:
    def denied() -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with waiting(lambda _: None), pytest.raises(PermissionError):
        patiently(denied)


async def test_loop_is_repeated_until_there_is_room() -> None:
    write = full_for(2)

    async def work() -> str:
        return write()

    assert await outlasting(work) == "written"

    async def broken() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        await outlasting(broken)


def test_full_disk_is_recognized_in_every_error_form() -> None:
    database = sqlite3.OperationalError("database or disk is full")
    database.sqlite_errorcode = sqlite3.SQLITE_FULL
    opening = sqlite3.OperationalError("disk I/O error")
    opening.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    quota = OSError(errno.EDQUOT, "Disk quota exceeded")
    for error in (
        FULL,
        quota,
        database,
        opening,
        NotStored("full"),
        ExceptionGroup("both", [KeyError(), FULL]),
    ):
        assert is_full_disk(error)
    for other in (OSError(errno.EIO, "I/O error"), sqlite3.OperationalError("locked"), KeyError()):
        assert not is_full_disk(other)


def test_room_is_the_free_space_of_the_file_system(tmp_path: Path) -> None:
    assert has_room(tmp_path)
    assert not has_room(tmp_path, 2**62)
    assert has_room(tmp_path / "nowhere")
    assert has_room(Path("/proc")), "it has no size"
    assert str(tmp_path) in full_message(tmp_path)


def test_journals_and_files_wait_and_leave_nothing_half_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, full = os.write, 6

    def write(fd: int, data: bytes) -> int:
        nonlocal full
        full -= 1
        if full > 0:
            if full % 2:
                return real(fd, data[:3])
            raise FULL
        return real(fd, data)

    told: list[bool] = []
    with Journal(tmp_path / "j.jsonl") as journal, waiting(told.append):
        journal.append({"a": 1})
        monkeypatch.setattr("agiraph.storage.files.os.write", write)
        assert journal.append({"b": 2}, {"c": 3}) == 3
        assert read_journal(tmp_path / "j.jsonl") == [{"a": 1}, {"b": 2}, {"c": 3}]
        full = 4
        replace_file(tmp_path / "whole", "text")
    assert (tmp_path / "whole").read_text() == "text"
    assert told == [True, False, True, False]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["j.jsonl", "whole"]
