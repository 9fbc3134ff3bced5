"""Logs in the home: bounded, found by entity, narrowed, followed as their files turn."""

import errno
import json
import logging
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from agiraph.core.errors import Ambiguous, InvalidInput
from agiraph.logs.log import formatter, logger, set_up_logging
from agiraph.logs.log_file import LogFile, log_files
from agiraph.logs.logbook import LogQuery, LogTail, logs_of, read_past
from agiraph.storage.disk_space import waiting
from agiraph.storage.home import Home
from cli.main import agiraph

LIMIT = 400


class Writer:
    """A process that logs."""

    def __init__(self, home: Path, address: str, **about: str | None) -> None:
        self.path = Home(home).system.log(address)
        self.about = {"entity": address, **about}
        self.file = LogFile(self.path, LIMIT, 3)
        self.file.setFormatter(formatter("json"))

    def say(self, event: str, level: int = logging.INFO, **fields: object) -> None:
        line = {"event": event, **self.about, **fields}
        record = logging.LogRecord("agiraph", level, "", 0, line, None, None)
        record.__dict__ |= {"_logger": None, "_name": "info"}
        self.file.emit(record)


@pytest.fixture
def ada(tmp_path: Path) -> Writer:
    return Writer(tmp_path, "shop-1f2e3d/ada-77aa88", run="r1", node=None)


def events(lines: list[dict[str, object]]) -> list[object]:
    return [line["event"] for line in lines]


def test_line_names_its_entity_and_run_and_no_secret(ada: Writer) -> None:
    ada.say("hello", token="hush", model="sk-ant-api03-abcdefgh12345678")
    [line] = read_past([ada.path], LogQuery())
    assert (line["entity"], line["run"]) == ("shop-1f2e3d/ada-77aa88", "r1")
    assert (line["token"], line["model"]) == ("[redacted]", "[redacted]")
    assert "node" not in line
    assert ada.path.stat().st_mode & 0o077 == 0


def test_log_size_is_bounded_by_its_files(ada: Writer) -> None:
    for number in range(60):
        ada.say(f"event {number}")
    assert len(log_files(ada.path)) == 3
    assert all(file.stat().st_size <= LIMIT for file in log_files(ada.path))
    lines = read_past([ada.path], LogQuery())
    assert events(lines)[-1] == "event 59"
    assert events(lines) == [f"event {number}" for number in range(60 - len(lines), 60)]


def test_follower_misses_no_line_when_files_rotate(ada: Writer) -> None:
    ada.say("before")
    tail = LogTail(ada.path)
    seen: list[object] = []
    for number in range(40):
        ada.say(f"event {number}")
        if number % 3 == 0:
            seen += events(tail.new())
    seen += events(tail.new())
    tail.close()
    assert seen == [f"event {number}" for number in range(40)]


def test_a_follower_of_a_log_that_is_not_there_yet_sees_its_first_line(ada: Writer) -> None:
    tail = LogTail(ada.path)
    assert tail.new() == []
    ada.say("first")
    assert events(tail.new()) == ["first"]
    with open(ada.path, "ab") as file:
        file.write(b'{"event": "half')
    assert tail.new() == []
    with open(ada.path, "ab") as file:
        file.write(b' a line"}\n')
    assert events(tail.new()) == ["half a line"]
    tail.close()


@pytest.mark.parametrize(
    "entity",
    [
        *("ada", "ada-77aa88", "shop-1f2e3d/ada-77aa88", "shop-1f2e3d", "shop", "Shop-1F2E3D/Ada"),
        *("a", "ada-7", "sho", "shop-1f2e3d/a"),
    ],
)
def test_entity_is_found_by_its_usual_names(ada: Writer, entity: str) -> None:
    ada.say("here")
    Writer(ada.path.parents[2], "broker").say("there")
    assert logs_of(ada.path.parent, entity) == [ada.path]


def test_ambiguous_prefix_is_refused_with_the_matching_names(ada: Writer) -> None:
    ada.say("here")
    Writer(ada.path.parents[2], "shop-1f2e3d/adam-99bb00").say("there")
    assert len(logs_of(ada.path.parent, "sh")) == 2
    assert logs_of(ada.path.parent, "ada") == [ada.path]
    with pytest.raises(Ambiguous, match="log 'ad' could be any of ada"):
        logs_of(ada.path.parent, "ad")


def test_unknown_entity_is_refused_with_the_known_ones(ada: Writer) -> None:
    ada.say("here")
    with pytest.raises(InvalidInput, match=r"unknown log 'bob' \(known: shop-1f2e3d/ada-77aa88\)"):
        logs_of(ada.path.parent, "bob")


def test_note_is_written_only_to_the_file(ada: Writer, capsys: pytest.CaptureFixture[str]) -> None:
    root, ours = logging.getLogger(), logging.getLogger("agiraph")
    before, levels = root.handlers[:], (root.level, ours.level)
    try:
        set_up_logging("info", file=ada.file)
        logger(address="x").note("busy", step="bash")
        logger(address="x").warning("late")
    finally:
        root.handlers[:] = before
        root.setLevel(levels[0])
        ours.setLevel(levels[1])
    assert events(read_past([ada.path], LogQuery())) == ["busy", "late"]
    assert "busy" not in capsys.readouterr().err


def test_an_entity_that_has_logged_nothing_is_known(ada: Writer) -> None:
    ada.path.parent.mkdir(parents=True)
    ada.path.with_suffix(".log").touch()
    assert read_past(logs_of(ada.path.parent, "ada"), LogQuery()) == []


def test_logs_command_merges_by_time_and_filters(ada: Writer) -> None:
    home = ada.path.parents[2]
    broker = Writer(home, "broker")
    ada.say("one")
    broker.say("two", logging.WARNING)
    ada.say("three", logging.ERROR)

    def shown(*args: str) -> list[str]:
        result = CliRunner().invoke(agiraph, ["logs", "--home", str(home), *args])
        assert result.exit_code == 0, result.stderr
        return result.stdout.splitlines()

    assert [line.split(": ")[1].split()[0] for line in shown()] == ["one", "two", "three"]
    assert len(shown("--level", "warning")) == 2
    assert len(shown("ada", "-n", "1")) == 1
    assert len(shown("--since", "1h")) == 3
    assert shown("--since", "2999-01-01T00:00") == []
    assert '"event": "two"' in shown("broker", "--json")[0]


def test_partial_line_on_a_full_disk_is_removed_and_stops_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, real = Writer(tmp_path, "broker"), os.write
    writer.say("first")
    whole = writer.path.read_bytes()
    waits: list[bool] = []
    with monkeypatch.context() as patch, waiting(waits.append):
        patch.setattr("agiraph.logs.log_file.os.write", lambda fd, data: real(fd, data[:5]))
        writer.say("second")
        assert writer.path.read_bytes() == whole

        def full(fd: int, data: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        patch.setattr("agiraph.logs.log_file.os.write", full)
        writer.say("third")
    writer.say("fourth")
    assert [line["event"] for line in map(json.loads, writer.path.read_text().splitlines())] == [
        "first",
        "fourth",
    ]
    assert waits == [], "a log waits for nothing"
