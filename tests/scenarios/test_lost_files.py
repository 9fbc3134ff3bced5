"""A home that has lost a file, or the end of one: it starts, or one sentence names the file.

A home in the middle of a run is copied for each file, which is removed or cut in half.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fakes.forked_command import ForkedCommand
from tests.fakes.front_door import run_here
from tests.fakes.irregular_files import UNREADABLE
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, running_home
from tests.scenarios.scenario_home import ROOT, JsonObject, processes_of
from tests.scenarios.steps import ask, finish, one_worker

START_SECONDS = 60
RISING = frozenset({"starting", "backing_off", "stopping"})
NEEDED = (
    "system/children.journal",
    "system/mailboxes.db",
    "system/usage.db",
    "human/book.db",
    "agents/*/agent.json",
    "agents/*/conversation.jsonl",
    "agents/*/runs/*/journal.jsonl",
)
"""The files whose loss a person must know of."""
KNOWN_TO_END = frozenset({"usage.db", "mailboxes.db", "book.db", "agent.json", "children.journal"})
"""For these, another file records that they were cut."""
ODD = (
    ("system/usage.db", "folder"),
    ("system/token", "pipe"),
    ("system/mailboxes.db", "pipe"),
    ("human/book.db", "link that leads nowhere"),
    ("agents/*/conversation.jsonl", "folder"),
)


NESTED = ("human/repeats.jsonl", "agents/*/runs/*/journal.jsonl")
"""Files that get a line which is nested more deeply than the parser of JSON can read."""
BRACKETS = "[" * 200_000 + "\n"


class LostFiles:
    """Copies of one home, each with one damaged file; all of them at the same path."""

    def __init__(self, whole: Path, home: Path, environ: dict[str, str]) -> None:
        self._whole, self.home, self._environ = whole, home, environ

    def files(self) -> list[Path]:
        """Return every file of the home, relative to it."""
        found = sorted(path for path in self._whole.rglob("*") if path.is_file())
        return [path.relative_to(self._whole) for path in found if not path.is_symlink()]

    def found(self, pattern: str) -> Path:
        """Return the only file that a pattern matches, relative to the home."""
        [path] = self._whole.glob(pattern)
        return path.relative_to(self._whole)

    def damage(self, file: Path, *, is_cut: bool) -> Path:
        """Make a copy of the home that has lost a file, or half of it; return the file."""
        path = self._copied(file)
        if is_cut:
            os.truncate(path, path.stat().st_size // 2)
        else:
            path.unlink()
        return path

    def replace(self, file: Path, kind: str) -> Path:
        """Copy the home with an odd entry at the path of a file; return the path."""
        path = self._copied(file)
        path.unlink(missing_ok=True)
        UNREADABLE[kind](path)
        return path

    def nest(self, file: Path) -> Path:
        """Copy the home, append a line that is nested too deeply to a file; return the file."""
        path = self._copied(file)
        with path.open("a") as damaged:
            damaged.write(BRACKETS)
        return path

    def _copied(self, file: Path) -> Path:
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self._whole, self.home, symlinks=True)
        return self.home / file

    def command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run `agiraph WORDS` on the home."""
        return run_here(words, cwd=self.home.parent, environ=self._environ)

    def check_start(self, path: Path) -> None:
        """Start a supervisor on the home.

        Fails if a process does not start and its cause does not name the file, or if a person would
        see a traceback.
        """
        function, *words = LiveHome.program
        process = ForkedCommand(
            (*words, "--until-eof"),
            cwd=self.home,
            env={**self._environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            program=function,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            is_ready = "ready" in process.stdout.readline()
            rows = until(self._settled, f"it settles without {path}") if is_ready else []
        finally:
            if process.poll() is None:
                process.stdin.close()
                process.stdin = None
            _, errors = process.communicate(START_SECONDS)
        causes = [str(row["cause"]) for row in rows if row["state"] == "failed"]
        causes += [] if is_ready else errors.strip().splitlines()[-1:]
        assert all(str(path) in cause for cause in causes), causes
        logs = [*(self.home / "system" / "logs").glob("*.log")]
        assert "Traceback" not in errors + "".join(log.read_text() for log in logs)
        assert not processes_of(self.home)

    def _settled(self) -> list[JsonObject] | None:
        """Return the processes once none of them starts any more."""
        done = self.command("ps", "--json")
        rows: list[JsonObject] = json.loads(done.stdout) if done.returncode == 0 else []
        return rows if rows and not any(row["state"] in RISING for row in rows) else None


@pytest.fixture(scope="module")
def lost_files(tmp_path_factory: pytest.TempPathFactory) -> LostFiles:
    """A home that was stopped in the middle of a run, and had two supervisors before."""
    home = tmp_path_factory.mktemp("lost") / "home"
    home.mkdir()
    with running_home(home, settings={"run": {"park_after_seconds": 0}}) as live_home:
        live_home.plays(coordinator=one_worker("ada"), ada=[ask("Which one?")])
        agent = live_home.begin("halfway")
        live_home.await_question(agent.name)
        live_home.restart_supervisor()
        live_home.await_question(agent.name)
        environ = dict(live_home.environ)
    whole = home.rename(home.with_name("whole"))
    for folder in ("logs", "run"):
        shutil.rmtree(whole / "system" / folder)
    return LostFiles(whole, home, environ)


@pytest.mark.parametrize("is_cut", [False, True], ids=["removed", "cut"])
@pytest.mark.parametrize("pattern", NEEDED)
def test_home_with_a_lost_file_starts_or_names_it_and_doctor_too(
    lost_files: LostFiles, pattern: str, is_cut: bool
) -> None:
    path = lost_files.damage(lost_files.found(pattern), is_cut=is_cut)
    checks = json.loads(lost_files.command("doctor", "--json").stdout)["checks"]
    named = [check for check in checks if str(path) in check["detail"] and check["status"] != "ok"]
    assert named or (is_cut and path.name not in KNOWN_TO_END)
    lost_files.check_start(path)


@pytest.mark.parametrize(("pattern", "kind"), ODD)
def test_home_with_an_irregular_file_names_it_and_doctor_too(
    lost_files: LostFiles, pattern: str, kind: str
) -> None:
    path = lost_files.replace(lost_files.found(pattern), kind)
    checks = json.loads(lost_files.command("doctor", "--json").stdout)["checks"]
    assert [check for check in checks if str(path) in check["detail"] and check["status"] != "ok"]
    lost_files.check_start(path)


@pytest.mark.parametrize("pattern", NESTED)
def test_home_with_a_too_deeply_nested_line_names_the_file_and_doctor_too(
    lost_files: LostFiles, pattern: str
) -> None:
    path = lost_files.nest(lost_files.found(pattern))
    checks = json.loads(lost_files.command("doctor", "--json").stdout)["checks"]
    assert [check for check in checks if str(path) in check["detail"] and check["status"] != "ok"]
    lost_files.check_start(path)


def test_running_home_survives_the_loss_of_its_address_files(
    live_home: LiveHome,
) -> None:
    live_home.plays(coordinator=[finish()])
    live_home.run("Begin")
    for name in ("system/lock", "system/token", "system/supervisor.json", "human/address.json"):
        (live_home.home / name).unlink()
    second = live_home.command("up")
    assert (second.returncode, second.stderr) == (0, "the supervisor runs already\n")
    until(lambda: (live_home.home / "human/address.json").exists(), "the address is written again")
    assert live_home.json("agents")
    for name in ("system/token", "human/address.json"):
        (live_home.home / name).unlink()
        os.mkfifo(live_home.home / name)
    assert live_home.json("agents")


@pytest.mark.machines
@pytest.mark.parametrize("kind", UNREADABLE)
def test_home_starts_or_names_the_file_for_each_irregular_file(
    lost_files: LostFiles, kind: str
) -> None:
    for file in lost_files.files():
        lost_files.check_start(lost_files.replace(file, kind))


@pytest.mark.machines
def test_home_starts_or_names_the_file_for_each_lost_or_cut_file(lost_files: LostFiles) -> None:
    for file in lost_files.files():
        for is_cut in (False, True):
            lost_files.check_start(lost_files.damage(file, is_cut=is_cut))
