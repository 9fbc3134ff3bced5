"""A home without a running supervisor: everything readable is read, and nothing is changed."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from actors.runtime.processes import kill_all
from cli.exits import CLOSED_PIPE
from tests.fakes.forked_command import FRONT_DOOR, begun
from tests.fakes.front_door import run_here
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, running_home
from tests.scenarios.scenario_home import ROOT, JsonObject, processes_of
from tests.scenarios.steps import WORK, ask, held, one_worker, tell

START = "start one with: agiraph up"
ASKS = [ask("PostgreSQL or SQLite?"), *WORK]
READING = [
    ("agents",),
    ("show", "known"),
    ("show", "known", "--runs"),
    ("board", "known"),
    ("board", "known", "ada-facts"),
    ("workers", "known"),
    ("workers", "knocks"),
    ("files", "known"),
    ("files", "known", "_output.md"),
    ("memory", "known"),
    ("memory", "known", "--search", "facts"),
    ("messages", "known"),
    ("result", "known"),
    ("transcript", "known"),
    ("transcript", "known/ada"),
    ("usage",),
    ("usage", "known", "--by", "node", "--budgets"),
    ("budget", "known"),
    ("questions",),
    ("approvals",),
    ("triggers", "known", "list"),
    ("dead",),
    ("archive",),
    ("channels",),
    ("roles", "agents"),
    ("roles", "config"),
    ("roles", "validate"),
    ("roles", "health"),
]

PRINTING = (
    *[("--help",), ("help", "run"), ("run", "--help"), ("--version",), ("completion", "bash")],
    *[
        ("config", "schema"),
        ("plan", "schema"),
        ("plan", "export", "known"),
        ("knowledge", "export"),
    ],
)
"""Commands that print the same on every home, or have no --json."""

CHANGED = {"last_event", "where"}
"""The number of the last event, and the address of the gateway."""

Ending = tuple[int | None, str]


@dataclass
class HomeAtRest:
    """A home at rest, and the output of the reading commands while its supervisor ran."""

    home: Path
    environ: dict[str, str]
    seen: dict[tuple[str, ...], Any]
    events: list[JsonObject]

    def run(self, *args: str, home: Path | None = None) -> "subprocess.CompletedProcess[str]":
        """Run a command."""
        environ = {**self.environ, "AGIRAPH_HOME": str(home or self.home)}
        return run_here(args, cwd=self.home, environ=environ)

    def json(self, *args: str) -> Any:
        """Run a command with --json and return its parsed output."""
        done = self.run(*args, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    def run_unread(
        self, *lines: tuple[str, ...], is_stderr_unread: bool = False
    ) -> Iterator[Ending]:
        """Run commands with an unread stdout; yield each exit code and stderr."""
        environ = {**self.environ, "AGIRAPH_HOME": str(self.home)}
        for first in range(0, len(lines), 4):
            started = []
            for line in lines[first : first + 4]:
                (unread, stdout), (errors, stderr) = os.pipe(), os.pipe()
                os.close(unread)
                ends = [os.open(os.devnull, os.O_RDONLY), stdout]
                ends.append(os.dup(stdout) if is_stderr_unread else os.dup(stderr))
                os.close(stderr)
                process = begun(FRONT_DOOR, line, self.home, environ, ends)
                started.append((process, os.fdopen(errors, encoding="utf-8")))
            for process, shown in started:
                with shown:
                    text = shown.read()
                process.join(60)
                yield process.exitcode, text


@pytest.fixture(scope="module")
def resting_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HomeAtRest]:
    home = tmp_path_factory.mktemp("rest")
    with running_home(home, settings={"run": {"park_after_seconds": 0.2}}) as live_home:
        _fill(live_home)
        seen = {args: live_home.json(*args) for args in READING}
        events = live_home.json("events", "known")
        environ = dict(live_home.environ)
    yield HomeAtRest(home, environ, seen, events)
    assert processes_of(home) == []


def _fill(live_home: LiveHome) -> None:
    """Create an ended agent, an agent that asks, and an archived agent."""
    live_home.plays(coordinator=one_worker("ada"), ada=[tell("human", "Soon."), *WORK])
    live_home.run("Know the facts", "--name", "known")
    live_home.json("triggers", "known", "add", "Look again", "--cron", "0 9 * * MON")
    live_home.json("budget", "known", "2m-tokens")
    live_home.run("Forget it", "--name", "gone")
    live_home.json("archive", "gone")
    live_home.plays(coordinator=one_worker("ada"), ada=ASKS)
    asks = live_home.begin("knocks")
    until(lambda: live_home.has_parked(asks.name, 2), "coordinator and worker parked")
    until(lambda: all(r["pid"] is None for r in _team(live_home)), "the other team has parked")


def _steer_by_beginnings(live_home: LiveHome) -> None:
    [paused] = live_home.json("pause", "bus/ad")
    assert paused["address"].startswith("busy-")
    for named in ("kno", "ad"):
        refused = live_home.command("pause", named)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"entity '{named}' could be any of " in refused.stderr


def _team(live_home: LiveHome) -> list[JsonObject]:
    return [row for row in live_home.json("ps") if "/" in row["address"]]


def contents(home: Path) -> dict[str, tuple[str, int]]:
    """Return the hash and the time of change of every file of a home."""
    return {
        str(path.relative_to(home)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            path.lstat().st_mtime_ns,
        )
        for path in [home, *home.rglob("*")]
    }


def lasting(found: Any) -> Any:
    """Return the rows without the fields that the end of the supervisor changes."""
    rows = found if isinstance(found, list) else [found]
    return [{key: row[key] for key in row if key not in CHANGED} for row in rows]


@pytest.mark.parametrize("args", READING, ids=" ".join)
def test_home_without_a_supervisor_shows_the_same_records(
    resting_home: HomeAtRest, args: tuple[str, ...]
) -> None:
    before = contents(resting_home.home)
    assert lasting(resting_home.json(*args)) == lasting(resting_home.seen[args])
    assert contents(resting_home.home) == before
    if "--budgets" not in args:
        assert resting_home.run(*args).returncode == 0


@pytest.mark.parametrize(
    ("short", "whole"),
    [
        (("show", "KNOW"), ("show", "known")),
        (("board", "know", "ada"), ("board", "known", "ada-facts")),
        (("usage", "know"), ("usage", "known")),
        (("files", "know", "_output.md"), ("files", "known", "_output.md")),
        (("triggers", "know", "list"), ("triggers", "known", "list")),
        (("workers", "KNOC"), ("workers", "knocks")),
        (("events", "know", "--entity", "ad"), ("events", "known", "--entity", "ada")),
        (("events", "know", "--node", "ada"), ("events", "known", "--node", "ada-facts")),
    ],
    ids=str,
)
def test_the_beginning_of_a_name_is_enough(
    resting_home: HomeAtRest, short: tuple[str, ...], whole: tuple[str, ...]
) -> None:
    found = resting_home.json(*short)
    assert found
    assert found == resting_home.json(*whole)


@pytest.mark.parametrize(
    "args",
    [("show", "kno"), ("board", "kn"), ("usage", "kno"), ("questions", "kno"), ("logs", "kno")],
    ids=" ".join,
)
def test_ambiguous_prefix_is_wrong_usage_with_the_matches(
    resting_home: HomeAtRest, args: tuple[str, ...]
) -> None:
    done = resting_home.run(*args)
    assert (done.returncode, done.stdout) == (2, "")
    line = done.stderr.splitlines()[-1]
    assert f"'{args[1]}' could be any of kno" in line
    assert line.endswith(": type more of it")
    assert len(line) < 160


def test_a_mistyped_name_is_answered_with_the_nearest(resting_home: HomeAtRest) -> None:
    done = resting_home.run("show", "konwn")
    assert done.returncode == 2
    assert "unknown agent 'konwn', did you mean 'known'?" in done.stderr
    assert "did you mean 'ada-facts'" in resting_home.run("board", "known", "ada-fats").stderr


def test_events_and_logs_are_shown_without_a_supervisor(resting_home: HomeAtRest) -> None:
    found = resting_home.json("events", "known")
    assert found[: len(resting_home.events)] == resting_home.events
    assert "ready" in resting_home.run("logs", "broker").stdout


def test_each_command_ends_silently_when_its_reader_is_closed(resting_home: HomeAtRest) -> None:
    as_json = [*READING, ("events", "known"), ("logs",), ("knowledge", "stats"), ("config", "show")]
    as_text = [line for line in as_json if line[0] not in ("dead", "approvals")]  # there are none
    as_text.remove(("usage", "known", "--by", "node", "--budgets"))
    lines = [*PRINTING, *as_text, *((*line, "--json") for line in as_json)]
    ends = dict(zip(lines, resting_home.run_unread(*lines), strict=True))
    assert {line: end for line, end in ends.items() if end != (CLOSED_PIPE, "")} == {}


def test_error_without_a_reader_keeps_its_exit_code(resting_home: HomeAtRest) -> None:
    ends = resting_home.run_unread(("show", "nobody"), ("nonsense",), is_stderr_unread=True)
    assert [*ends] == [(2, ""), (2, "")]


def test_outcome_of_a_run_is_shown_without_a_supervisor(resting_home: HomeAtRest) -> None:
    waited = resting_home.run("wait", "known")
    assert (waited.returncode, waited.stdout, waited.stderr) == (0, "", "")
    attached = resting_home.run("attach", "known")
    assert (attached.returncode, attached.stdout.startswith("Done: ")) == (0, True)


def test_ps_lists_former_entities_and_reports_that_none_runs(resting_home: HomeAtRest) -> None:
    done = resting_home.run("ps", "--json")
    assert (done.returncode, START in done.stderr) == (0, True)
    rows = {row["address"]: row for row in json.loads(done.stdout)}
    assert rows["supervisor"]["state"] == "stopped"
    assert {row["pid"] for row in rows.values()} == {None}
    asks = next(agent["id"] for agent in resting_home.seen["agents",] if agent["name"] == "knocks")
    states = [row["state"] for address, row in rows.items() if address.startswith(asks)]
    assert states == ["parked", "waiting_for_human"]


@pytest.mark.parametrize(
    "args",
    [
        ("send", "known", "hello"),
        ("pause", "known"),
        ("respond", "q-1", "yes"),
        ("budget", "known", "9"),
        ("triggers", "known", "add", "x", "--in", "1h"),
        ("archive", "known"),
        ("restore", "gone"),
        ("delete", "gone", "--yes"),
        ("retry", "known", "ada-facts"),
        ("prune", "--older-than", "1d"),
        ("wait", "knocks"),
        ("attach", "knocks"),
        ("tokens",),
        ("run", "x", "--detach", "--model", "openai/fake"),
        ("events", "known", "--follow"),
        ("top", "--once"),
        ("console", "known"),
    ],
    ids=" ".join,
)
def test_command_that_needs_a_supervisor_names_how_to_start_one(
    resting_home: HomeAtRest, args: tuple[str, ...]
) -> None:
    before = contents(resting_home.home)
    done = resting_home.run(*args)
    assert (done.returncode, done.stdout) == (4, "")
    assert "no supervisor runs on home" in done.stderr
    assert START in done.stderr
    assert contents(resting_home.home) == before


def test_writing_command_starts_a_temporary_supervisor(
    resting_home: HomeAtRest, tmp_path: Path
) -> None:
    home, project = tmp_path / "home", tmp_path / "shop"
    project.mkdir()
    (project / "shop.py").write_text("def sell() -> None: ...\n")
    missing = resting_home.run("knowledge", "scan", str(tmp_path / "nothing"), home=home)
    assert (missing.returncode, home.exists()) == (2, False)
    added = resting_home.run(
        "knowledge", "add", "preference", "Short", "One page.", "--json", home=home
    )
    assert (added.returncode, json.loads(added.stdout)["node"]["title"]) == (0, "Short")
    scanned = resting_home.run("knowledge", "scan", str(project), "--json", home=home)
    assert (scanned.returncode, json.loads(scanned.stdout)["files"]) == (0, 1)
    assert processes_of(home) == []
    assert "Short" in resting_home.run("knowledge", "search", "page", home=home).stdout


def test_the_servers_of_tools_are_asked_without_a_supervisor(
    resting_home: HomeAtRest, tmp_path: Path
) -> None:
    server = {"command": sys.executable, "args": ["-m", "tests.fakes.mcp_server", str(tmp_path)]}
    settings = {"mcp": {"servers": {"fake": {**server, "cwd": str(ROOT)}}}}
    (tmp_path / "agiraph.yaml").write_text(json.dumps(settings))
    [row] = json.loads(resting_home.run("mcp", "list", "--json", home=tmp_path).stdout)
    assert (row["state"], row["problem"]) == ("ready", "")
    assert "fake__add" in [tool["name"] for tool in row["tools"]]
    assert processes_of(tmp_path) == []


def test_home_with_all_processes_killed_shows_the_same_records(
    resting_home: HomeAtRest, tmp_path: Path
) -> None:
    """The database's last writes are then beside it, in a log that no process has merged."""
    with running_home(tmp_path, settings={"run": {"park_after_seconds": 0.2}}) as live_home:
        _fill(live_home)
        gate = threading.Event()
        live_home.plays(coordinator=one_worker("ada"), ada=[held(WORK[0], gate), *WORK[1:]])
        live_home.begin("busy")
        live_home.await_step("ada", 0)
        _steer_by_beginnings(live_home)
        seen = {args: live_home.json(*args) for args in (("questions",), ("usage", "known"))}
        kill_all(processes_of(live_home.home))
        live_home.supervisor.communicate()
        assert (tmp_path / "human/book.db-wal").stat().st_size
        before = contents(tmp_path)
        for args, printed in seen.items():
            done = resting_home.run(*args, "--json", home=tmp_path)
            assert (done.returncode, done.stderr) == (0, "")
            assert json.loads(done.stdout) == printed
        found = json.loads(resting_home.run("agents", "--json", home=tmp_path).stdout)
        states = {agent["name"]: agent["status"] for agent in found}
        assert states["known"] == "completed"
        assert states["busy"] == "stopped"
        assert contents(tmp_path) == before
        gate.set()
        live_home.supervisor = live_home.start_supervisor()


def test_missing_home_is_not_created(resting_home: HomeAtRest, tmp_path: Path) -> None:
    home = tmp_path / "none"
    done = resting_home.run("agents", home=home)
    assert (done.returncode, done.stdout) == (0, "")
    assert f"there is no home {home} yet" in done.stderr
    assert "no agents yet; create one with: agiraph run GOAL" in done.stderr
    assert json.loads(resting_home.run("agents", "--json", home=home).stdout) == []
    assert resting_home.run("show", "x", home=home).returncode == 2
    assert resting_home.run("ps", home=home).returncode == 0
    assert not home.exists()


def test_damaged_agent_is_omitted_and_reported(resting_home: HomeAtRest, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(resting_home.home, home, ignore=shutil.ignore_patterns("run"))
    [known] = home.glob("agents/known-*")
    (known / "agent.json").write_text("{")
    done = resting_home.run("agents", "--json", home=home)
    assert [agent["name"] for agent in json.loads(done.stdout)] == ["knocks"]
    assert resting_home.run("show", known.name, home=home).returncode == 1


def test_a_supervisor_that_starts_meanwhile_is_asked_instead(
    resting_home: HomeAtRest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agiraph.readmodel import home_copy as copies

    with running_home(tmp_path) as live_home:
        assert live_home.supervisor.stdin is not None
        live_home.supervisor.stdin.close()
        live_home.supervisor.communicate()
        copy = copies.copy_if_there

        def start(source: Path, target: Path) -> None:
            if live_home.supervisor.poll() is not None:
                live_home.supervisor = live_home.start_supervisor()
            copy(source, target)

        monkeypatch.setattr(copies, "copy_if_there", start)
        rows = resting_home.run("ps", "--json", home=tmp_path)
        found = {row["address"]: row["state"] for row in json.loads(rows.stdout)}
        assert found["supervisor"] == "ready"
