"""RunCounts: the countable results of a run; and the differences between two runs."""

import hashlib
import json
from collections import Counter
from dataclasses import astuple, dataclass, field
from operator import add
from pathlib import Path

from agiraph.board.store import read_board
from agiraph.core.json_text import parse_json
from agiraph.storage.files import files_below, read_bytes, read_text
from agiraph.storage.home import AgentHome, RunHome
from agiraph.storage.journal import read_journal

SUMMED_UP = "lines.txt"


@dataclass(frozen=True, slots=True)
class RunCounts:
    """The results of one run: `lines` written by steps, `messages` by (from, to, text)."""

    status: str
    files: dict[str, str] = field(default_factory=dict)
    completions: Counter[str] = field(default_factory=Counter)
    lines: Counter[str] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class RunDifference:
    """The missing and the surplus results of a disturbed run, compared with the undisturbed one."""

    lost: int = 0
    done_twice: int = 0
    steps_twice: int = 0
    nodes_not_published_once: int = 0
    files_that_differ: int = 0
    runs_unfinished: int = 0

    def __add__(self, other: "RunDifference") -> "RunDifference":
        """Return the sum over two runs."""
        return RunDifference(*map(add, astuple(self), astuple(other)))

    @property
    def is_none(self) -> bool:
        """Whether the runs have equal results."""
        return self == RunDifference()


def count_run(run: RunHome) -> RunCounts:
    """Return the counted results of a run."""
    board = read_board(run.journal)
    names = {node.id: node.name for node in board.nodes.values()}
    completions = Counter(
        names[record["node_id"]]
        for record in read_journal(run.journal)
        if record["type"] == "node.completed"
    )
    files: dict[str, str] = {}
    lines: Counter[str] = Counter()
    for node in board.nodes.values():
        published = run.node(node.folder).published
        for path in _files_below(published):
            files[f"{node.name}/{path}"] = _digest(published / path)
            if path.name == SUMMED_UP:
                lines.update(read_text(published / path).splitlines())
    status = board.run.status if board.run else "never started"
    return RunCounts(status, files, completions, lines, _messages(run.messages))


def ticks_left(agent: AgentHome, run: RunHome) -> int:
    """Return how many of the agent's triggers have not fired or been reported in the run's log."""
    stored = parse_json(read_bytes(agent.triggers))
    set_up = [trigger["name"] for trigger in stored.get("triggers", ())]
    text = "\n".join(_messages(run.messages))
    return sum(f"trigger '{name}'" not in text for name in set_up)


def difference(undisturbed: RunCounts, disturbed: RunCounts) -> RunDifference:
    """Return the differences between a run and the undisturbed one."""
    lost_lines = undisturbed.lines - disturbed.lines
    lost_messages = undisturbed.messages - disturbed.messages
    other_files = {
        name
        for name in undisturbed.files | disturbed.files
        if undisturbed.files.get(name) != disturbed.files.get(name)
    }
    not_once = [name for name in undisturbed.completions if disturbed.completions[name] != 1]
    return RunDifference(
        lost=lost_lines.total() + lost_messages.total(),
        done_twice=(disturbed.messages - undisturbed.messages).total(),
        steps_twice=(disturbed.lines - undisturbed.lines).total(),
        nodes_not_published_once=len(not_once),
        files_that_differ=len(other_files),
        runs_unfinished=int(disturbed.status != "completed"),
    )


def _files_below(folder: Path) -> list[Path]:
    try:
        return [path for path, _ in files_below(folder)]
    except FileNotFoundError:
        return []


def _digest(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()


def _messages(folder: Path) -> Counter[str]:
    """Return the messages by sender, receiver and text, independent of their time."""
    found: Counter[str] = Counter()
    names = [path for path in _files_below(folder) if path.suffix == ".md"]
    for name in names:
        head, _, text = read_text(folder / name).partition("\n\n")
        spoken = [line for line in head.splitlines() if line.startswith(("FROM", "TO"))]
        found[json.dumps([*spoken, text.strip()])] += 1
    return found
