"""WorkerFiles: a worker's personal folder, and the log of the node it holds."""

import json
import os
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from agiraph.core.clock import iso
from agiraph.core.models import Event, TeamRoster, Worker, WorkNode
from agiraph.storage.files import is_missing, open_file, read_bytes, read_shown, replace_file
from agiraph.storage.home import NodeHome, WorkerHome


class WorkerFiles:
    """Writes identity, memory, notebook and history, and creates what is missing of them."""

    def __init__(self, home: WorkerHome, worker: Worker) -> None:
        self.home = home
        self._log: tuple[Path, IO[bytes]] | None = None
        self._history: list[dict[str, str]] | None = None
        role = f"I am {worker.name}, a {worker.role}."
        identity = f"# {worker.name}\n\n{worker.identity or role}\n"
        memory = f"# What {worker.name} has learned\n\n{worker.memory}".rstrip() + "\n"
        for path, text in (
            (home.identity, identity),
            (home.memory, memory),
            (home.notebook, f"# Notebook of {worker.name}\n"),
            (home.history, "[]\n"),
        ):
            if is_missing(path):  # so none of them waits for the disk
                replace_file(path, text, is_synced=False)

    def load_roster(self) -> TeamRoster:
        """Return the roster that was stored last, an empty one if there is none."""
        try:
            return TeamRoster.model_validate_json(read_bytes(self.home.roster))
        except (OSError, ValidationError):
            return TeamRoster()

    def store_roster(self, roster: TeamRoster) -> None:
        """Store the roster for the next incarnation: its coordinator may be parked by then."""
        replace_file(self.home.roster, roster.model_dump_json() + "\n", is_synced=False)

    def note_start(self, node: WorkNode, now: float) -> None:
        """Write into the notebook that a node was taken up."""
        fd = open_file(self.home.notebook, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        with os.fdopen(fd, "a", encoding="utf-8") as notebook:
            notebook.write(f"\n- {iso(now)} took up {node.name} ({node.id})\n")

    def has_completed(self, node: WorkNode) -> bool:
        return any(entry["node_id"] == node.id for entry in self.history)

    def note_completion(self, node: WorkNode, summary: str, learned: str) -> None:
        """Write a completed node into memory and history; again for the same node does nothing."""
        if self.has_completed(node):
            return
        memory = read_shown(self.home.memory)
        heading = f"## {node.name} ({node.id})"
        if heading not in memory:
            text = f"{summary}\n\nLearned: {learned}" if learned else summary
            replace_file(self.home.memory, f"{memory}\n{heading}\n\n{text}\n")
        entry = {"node_id": node.id, "name": node.name, "task": node.task, "summary": summary}
        self._history = [*self.history, entry | ({"learned": learned} if learned else {})]
        lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in self.history)
        replace_file(self.home.history, f"[\n{lines}\n]\n")

    @property
    def history(self) -> list[dict[str, str]]:
        """The nodes that it has completed, the last one last; read once a node."""
        if self._history is None:
            self._history = json.loads(read_bytes(self.home.history))
        return self._history

    def log(self, node: NodeHome, event: Event) -> None:
        """Add an event to the node's execution trace."""
        line = event.model_dump_json(exclude={"seq", "agent_id"}) + "\n"
        self._log_of(node.log).write(line.encode("utf-8", "replace"))

    def _log_of(self, path: Path) -> IO[bytes]:
        """Return the open trace of a node; that of the node before is closed."""
        if self._log is None or self._log[0] != path:
            self.close()
            fd = open_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            self._log = path, os.fdopen(fd, "ab", buffering=0)
        return self._log[1]

    def close(self) -> None:
        """Close the log, and keep nothing of what was read."""
        self._history = None
        if self._log is not None:
            self._log[1].close()
            self._log = None
