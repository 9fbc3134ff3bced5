"""Tests in several processes, forked from the process that has collected them: `--forks 3`.

Collecting takes seconds of a processor, and so does starting the fork server of
`tests.fakes.forked`; pytest-xdist does both in each of its processes. Here both are done before the
first fork. A file stays with one process, because its tests share fixtures, and so do all files of
a folder that shares a browser; files are started in order, the browser's first, each by the first
free process.

A process that dies fails its current test, and all of its remaining tests.
"""

import os
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any

import pytest
from _pytest.capture import FDCapture

from tests.fakes.forked import share_forking

CLEANING_SECONDS = 10.0
NUMBER = struct.Struct("!H")
TOGETHER = ("tests/ui",)
"""Folders whose files share expensive fixtures."""
Files = list[list[pytest.Item]]
Location = tuple[str, int | None, str]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare `--forks`."""
    told = "run the tests in so many processes (auto: two more than there are processors)"
    parser.addoption("--forks", metavar="N", default="0", help=told)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the collected tests in processes, if `--forks` requests that."""
    config, forks = session.config, session.config.getoption("forks")
    # Many tests wait for other processes: with two more than processors, those are rarely idle.
    count = (os.cpu_count() or 1) + 2 if forks == "auto" else int(forks)
    if not count or not session.items or session.testsfailed or config.option.collectonly:
        return None
    share_forking()
    config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    files = _files(session.items)
    _Crew(session, files, min(count, len(files))).work()
    return True


def _files(items: list[pytest.Item]) -> Files:
    """Return the tests of each file; files that belong together are one, and come first."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        folder = item.path.parent
        files.setdefault(folder if _is_undivided(folder) else item.path, []).append(item)
    return [files[path] for path in sorted(files, key=lambda path: not _is_undivided(path))]


def _is_undivided(folder: Path) -> bool:
    return any(folder.match(name) for name in TOGETHER)


@dataclass
class _Fork:
    """A process that runs tests, and its reported state."""

    pid: int
    told: Connection
    files: list[int] = field(default_factory=list)
    running: str = ""
    done: set[str] = field(default_factory=set)
    has_ended: bool = False


class _Crew:
    """The processes, and the files that none has begun: numbers in a pipe, from which all read."""

    def __init__(self, session: pytest.Session, files: Files, count: int) -> None:
        self.session, self.files = session, files
        self.waiting, writer = os.pipe()
        os.write(writer, b"".join(map(NUMBER.pack, range(len(files)))))
        os.close(writer)
        self.forks = [self._begin(number) for number in range(count)]

    def _begin(self, number: int) -> _Fork:
        reader, writer = Pipe(duplex=False)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            writer.close()
            return _Fork(pid, reader)
        code = 1
        try:
            _Work(self.session, self.files, self.waiting, writer).run(number)
            code = 0
        except KeyboardInterrupt:
            pass
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def work(self) -> None:
        """Report the results of the processes, as if they ran here, until all have ended."""
        try:
            while open_ones := {fork.told: fork for fork in self.forks if not fork.has_ended}:
                for told in wait([*open_ones]):
                    self._hear(open_ones[told])  # type: ignore[index]
                if self.session.shouldfail or self.session.shouldstop:
                    self._begin_no_more()
        except BaseException:
            for number in (signal.SIGINT, signal.SIGKILL):
                self._end(number)
            raise
        for fork in self.forks:
            os.waitpid(fork.pid, 0)
            fork.told.close()
        if self.session.shouldfail:
            raise self.session.Failed(self.session.shouldfail)

    def _end(self, number: int) -> None:
        """Signal the running processes, and give them time to clean up."""
        left = [fork.pid for fork in self.forks if os.waitpid(fork.pid, os.WNOHANG)[0] == 0]
        for pid in left:
            os.kill(pid, number)
        deadline = time.monotonic() + CLEANING_SECONDS
        while left and time.monotonic() < deadline:
            time.sleep(0.05)
            left = [pid for pid in left if os.waitpid(pid, os.WNOHANG)[0] == 0]
        self.forks = [fork for fork in self.forks if fork.pid in left]

    def _hear(self, fork: _Fork) -> None:
        """Handle one report of a process, or its end."""
        config = self.session.config
        try:
            match fork.told.recv():
                case "file", number:
                    fork.files.append(number)
                case "start", nodeid, location:
                    fork.running = nodeid
                    config.hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
                case "report", data:
                    report = config.hook.pytest_report_from_serializable(config=config, data=data)
                    config.hook.pytest_runtest_logreport(report=report)
                case "finish", nodeid, location:
                    fork.done.add(nodeid)
                    config.hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
                case ("end",):
                    fork.has_ended = True
        except EOFError:
            fork.has_ended = True
            self._fail(fork)

    def _fail(self, fork: _Fork) -> None:
        """Fail the current and remaining tests of a process that died."""
        begun = chain.from_iterable(self.files[number] for number in fork.files)
        for item in (item for item in begun if item.nodeid not in fork.done):
            when = "in this test" if item.nodeid == fork.running else "before this test"
            report = pytest.TestReport(
                item.nodeid,
                item.location,
                keywords={},
                outcome="failed",
                longrepr=f"the process {fork.pid} that runs this file died {when}",
                when="call",
            )
            self.session.config.hook.pytest_runtest_logreport(report=report)

    def _begin_no_more(self) -> None:
        while os.read(self.waiting, NUMBER.size):
            pass


class _Work:
    """The work of one process: a plugin that reports the events of its tests."""

    def __init__(
        self, session: pytest.Session, files: Files, waiting: int, told: Connection
    ) -> None:
        self.session, self.files, self.waiting, self.told = session, files, waiting, told
        self.hook = session.config.hook

    def run(self, number: int) -> None:
        """Run files until none waits, or until a failure ends all."""
        self._settle(number)
        items = self._items()
        item = next(items, None)
        try:
            while item is not None and not (self.session.shouldfail or self.session.shouldstop):
                following = next(items, None)
                self.hook.pytest_runtest_protocol(item=item, nextitem=following)
                item = following
            self.told.send(("end",))
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self.session._setupstate.teardown_exact(None)

    def _settle(self, number: int) -> None:
        """Set up a folder and captured output of its own; report instead of printing."""
        config: Any = self.session.config
        factory, plugins = config._tmp_path_factory, config.pluginmanager
        factory._basetemp = factory.mktemp(f"fork{number}-")
        capture = plugins.getplugin("capturemanager")
        if isinstance(capture._global_capturing.out, FDCapture):
            for stream in (capture._global_capturing.out, capture._global_capturing.err):
                with tempfile.TemporaryFile() as own:  # the stream may be a default argument
                    os.dup2(own.fileno(), stream.tmpfile.fileno())
        plugins.unregister(name="terminalreporter")
        plugins.register(self)

    def _items(self) -> Iterator[pytest.Item]:
        """Yield tests; a new file is taken before the last test of the previous file runs."""
        while taken := os.read(self.waiting, NUMBER.size):
            [number] = NUMBER.unpack(taken)
            self.told.send(("file", number))
            yield from self.files[number]

    def pytest_runtest_logstart(self, nodeid: str, location: Location) -> None:
        """Report that a test begins."""
        self.told.send(("start", nodeid, location))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Report the result of a part of a test."""
        config = self.session.config
        data = self.hook.pytest_report_to_serializable(config=config, report=report)
        self.told.send(("report", data))

    def pytest_runtest_logfinish(self, nodeid: str, location: Location) -> None:
        """Report that a test has ended."""
        self.told.send(("finish", nodeid, location))
