"""kill -9 after each durable write of each process of a run: the outcome is as without a kill.

One run is undisturbed and counts the writes to each kind of file. Each further run is the same, but
the process that makes one chosen write dies right after it, and the outcomes are compared.
"""

import json
import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from agiraph.agent.loop import UNKNOWN_OUTCOME
from agiraph.core.event_types import RUN_ENDS
from agiraph.core.models import ENDED_AGENT
from agiraph.storage.files import is_file
from tests.fakes.mortal import DEATH, WRITES, order_death
from tests.integration.waiting import until
from tests.scenarios.conftest import NO_NOTES
from tests.scenarios.killed_runs import RULES, RUNS, KilledRun
from tests.scenarios.live_home import LiveHome, running_home, whole_lines

WITHIN_SECONDS: Final = 90.0
SEED: Final = 20
LINE: Final = "grep -qsx one lines.txt || echo one >> lines.txt"
NOT_COMPARED: Final = (
    "child.",
    "model.",
    "tool.",
    "message.",
    "shared.",
    "knowledge.",
    "worktree.",
    "agent.stopped",
)
"""How the types of events begin that a death may add or lose (docs/events.md, "Reported once")."""


@dataclass(frozen=True)
class KillAfterWrite:
    """The write after which its process dies: the `after`-th to files of the kind `file`."""

    file: str
    after: int


class KilledProcessHome(LiveHome):
    """A running home whose processes are killed at writes chosen by the test; its supervisor is
    restarted."""

    program = ("tests.fakes.mortal:supervise",)
    was_late = False
    """Whether the last run ended before the write after which a process was to die."""

    def play(self, run: str, name: str, death: KillAfterWrite | None) -> Path:
        """Play a run of RUNS as an agent of this name to its end; return the agent's folder."""
        folder = self.home.parent / f"of-{name}"
        folder.mkdir()
        played = RUNS[run](folder)
        self.plays(played.script())
        (self.home / WRITES).write_text("")
        if death is not None and death.file.startswith("agents/"):
            order_death(self.home, death.file, death.after)
        agent = self.begin(name, *played.args)
        if death is not None and not death.file.startswith("agents/"):
            order_death(self.home, death.file, death.after)
        elif death is None:
            (self.home / WRITES).write_text(self.of_agents())
        played.gate.set()
        until(
            lambda: self.has_ended(agent, played),
            f"the end of {name}",
            within_seconds=WITHIN_SECONDS,
        )
        self.was_late = (self.home / DEATH).exists()
        (self.home / DEATH).unlink(missing_ok=True)
        until(lambda: self.revive() and self.command("agents").returncode == 0, "all are back")
        self.stop(agent.name)
        return agent

    def revive(self) -> bool:
        """Start the supervisor again if it has died; return True."""
        if self.supervisor.poll() is not None:
            self.supervisor.communicate()
            self.supervisor = self.start_supervisor()
        return True

    def of_agents(self) -> str:
        """Return the lines of the log of writes that are about files of agents."""
        lines = (self.home / WRITES).read_text().splitlines(keepends=True)
        return "".join(line for line in lines if line.startswith("agents/"))

    def has_ended(self, agent: Path, played: KilledRun) -> bool:
        """Start the supervisor again, answer a question; return whether the run is over."""
        self.revive()
        asked = self.command("questions", agent.name, "--json")
        for question in json.loads(asked.stdout) if asked.returncode == 0 else ():
            self.command("respond", question["id"], played.answer)
        record = json.loads((agent / "agent.json").read_text())
        events = Counter(e["type"] for e in whole_lines(agent / "events.jsonl"))
        if played.last_cycle:
            sleeps = bool(record["status"] == "idle")
            return sleeps and events["agent.cycle_ended"] == played.last_cycle
        return record["status"] in ENDED_AGENT and any(events[end] for end in RUN_ENDS)


@pytest.fixture(scope="module")
def live_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KilledProcessHome]:
    home = tmp_path_factory.mktemp("mortal") / "home"
    home.mkdir()
    (home / "approvals.yaml").write_text(RULES)
    settings = {
        "supervisor": {"intensity": 1000},
        "worktrees": {"workers": "all"},
        **NO_NOTES,
    }
    with running_home(home, KilledProcessHome, settings) as standing:
        assert isinstance(standing, KilledProcessHome)
        yield standing


def run_without_kills(
    live_home: KilledProcessHome, run: str
) -> tuple[dict[str, Any], list[KillAfterWrite]]:
    """Return the outcome of an undisturbed run, and each write of it."""
    outcome = outcome_of(live_home.play(run, f"{run}-undisturbed", None))
    writes = Counter((live_home.home / WRITES).read_text().splitlines())
    deaths = [
        KillAfterWrite(file, n + 1) for file, most in sorted(writes.items()) for n in range(most)
    ]
    return outcome, deaths


def outcome_of(agent: Path) -> dict[str, Any]:
    """Return the parts of a run's outcome that must not depend on a crash."""
    record = json.loads((agent / "agent.json").read_text())
    run = agent / "runs" / record["run"]
    events = whole_lines(agent / "events.jsonl")
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    tools = {"coordinator": tools_of(agent)}
    for folder in (run / "workers").iterdir():  # a node may go to either of two equal workers
        name = folder.name.split("-")[0]
        tools[name] = tools.get(name, Counter()) + tools_of(folder)
    return {
        "status": record["status"],
        "board": sorted(r["type"] for r in whole_lines(run / "journal.jsonl")),
        "events": Counter(e["type"] for e in events if not e["type"].startswith(NOT_COMPARED)),
        "messages": sorted(text_of(path) for path in (run / "_messages").glob("*.md")),
        "published": {
            f"{path.parts[-3].split('-')[0]}/{path.name}": path.read_text()
            for path in (run / "nodes").glob("*/published/**/*")
            if path.is_file() and path.suffix != ".json"
        },
        "written": {
            f"{path.parts[-3].split('-')[0]}/{path.name}": path.read_text()
            for path in (run / "nodes").glob("*/scratch/*")
            if is_file(path) and not path.name.startswith((".", "_"))
        },
        "merged": merged(record),
        "tools": tools,
    }


def merged(record: dict[str, Any]) -> list[str]:
    """Return the commits of a run, and its files; [] without a repository."""
    if not record["input"]:
        return []
    git, result = ("git", "-C", record["input"]), f"agiraph/{record['run']}/result"
    shown = (("log", "--format=%s", f"main..{result}"), ("show", f"{result}:a.txt"))
    listed = (*shown, ("ls-tree", "--name-only", result), ("worktree", "list", "--porcelain"))
    found = [subprocess.run((*git, *words), capture_output=True, text=True) for words in listed]
    texts = [sorted(done.stdout.replace(record["input"], "").splitlines()) for done in found]
    return [line for text in texts for line in text if not line.startswith(("HEAD", "Merge "))]


def text_of(message: Path) -> str:
    """Return a message of the log, without its time."""
    lines = message.read_text().splitlines()
    return "\n".join(line for line in lines if not line.startswith("TIME: "))


def tools_of(folder: Path) -> Counter[str]:
    """Return how often each tool ended well in a conversation; a wait may end early."""
    records = whole_lines(folder / "conversation.jsonl")
    ended = [r for r in records if r["kind"] == "tool.finished" and r["name"] != "wait"]
    return Counter(r["name"] for r in ended if r["content"] != UNKNOWN_OUTCOME)


def sampled(deaths: list[KillAfterWrite]) -> list[KillAfterWrite]:
    """Return one kill for each kind of file, chosen by the seed."""
    drawn = random.Random(SEED)
    files = sorted({death.file for death in deaths})
    return [drawn.choice([one for one in deaths if one.file == file]) for file in files]


def assert_survives(
    live_home: KilledProcessHome, run: str, usual: dict[str, Any], deaths: list[KillAfterWrite]
) -> None:
    """Run a scenario once for each kill, and compare the outcomes."""
    different, late = [], 0
    for number, death in enumerate(deaths):
        outcome = outcome_of(live_home.play(run, f"{run}-{number}", death))
        late += live_home.was_late
        different += [
            f"{death}: {key}: {shown(outcome[key], part)}"
            for key, part in usual.items()
            if outcome[key] != part
        ]
    assert not different, "\n".join(different)
    assert late < len(deaths) // 3, "writes are batched, but most deaths were in time"


def shown(found: Any, usual: Any) -> str:
    """Return how a part of an outcome differs."""
    if isinstance(found, Counter):
        return f"more {dict(found - usual)}, less {dict(usual - found)}"
    return f"{found}, usually {usual}"


def test_kill_after_a_write_to_any_file_changes_no_outcome(live_home: KilledProcessHome) -> None:
    outcome, deaths = run_without_kills(live_home, "team")
    assert outcome["status"] == "completed", outcome
    assert_survives(live_home, "team", outcome, sampled(deaths))


@pytest.mark.machines
@pytest.mark.parametrize("run", RUNS)
def test_kill_after_every_write_changes_no_outcome(live_home: KilledProcessHome, run: str) -> None:
    outcome, deaths = run_without_kills(live_home, run)
    assert outcome["status"] in ("completed", "idle"), outcome
    assert_survives(live_home, run, outcome, deaths)
