"""WorkerFiles: a worker's personal folder, and the log of its current node."""

import json
import os
from pathlib import Path
from typing import IO, Final

from pydantic import TypeAdapter, ValidationError

from agiraph.core.clock import iso
from agiraph.core.models import Event, TeamRoster, Worker, WorkNode
from agiraph.storage.disk_space import patiently
from agiraph.storage.files import (
    append_all,
    is_missing,
    open_file,
    read_bytes,
    read_descriptor,
    read_shown,
    replace_bytes,
    replace_file,
    write_all,
)
from agiraph.storage.home import NodeHome, WorkerHome
from agiraph.storage.journal import sync_data
from agiraph.storage.walk import closing, is_about_place

HISTORY_READ: Final = 1024 * 1024
NEAR: Final = 4096
"""How far before the end of its memory a worker looks for a text before writing it again."""
LIST_END: Final = b"\n]\n"
EMPTY_LIST: Final = b"[]\n"
ENTRY: Final = TypeAdapter(dict[str, str])
NEEDED: Final = {"node_id", "summary"}


class WorkerFiles:
    """Writes identity, memory, notebook and history, and creates the missing files."""

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
        """Return the stored roster, an empty roster if there is none."""
        try:
            return TeamRoster.model_validate_json(read_bytes(self.home.roster))
        except (OSError, ValidationError):
            return TeamRoster()

    def store_roster(self, roster: TeamRoster) -> None:
        """Store the roster for the next incarnation: its coordinator may be parked by then."""
        replace_file(self.home.roster, roster.model_dump_json() + "\n", is_synced=False)

    def note_start(self, node: WorkNode, now: float) -> None:
        """Write the start of a node into the notebook."""
        line = f"\n- {iso(now)} took up {node.name} ({node.id})\n"
        _append_once(self.home.notebook, line.encode(), is_synced=False)

    def has_completed(self, node: WorkNode) -> bool:
        return any(entry["node_id"] == node.id for entry in self.history)

    def note_completion(self, node: WorkNode, summary: str, learned: str) -> None:
        """Write a completed node into memory and history; a repeated call does nothing."""
        if self.has_completed(node):
            return
        said = f"{summary}\n\nLearned: {learned}" if learned else summary
        _append_once(self.home.memory, f"\n## {node.name} ({node.id})\n\n{said}\n".encode())
        entry = {"node_id": node.id, "name": node.name, "task": node.task, "summary": summary}
        entries = [*self.history, entry | ({"learned": learned} if learned else {})]
        if not _append_entry(self.home.history, entries[-1]):
            lines = ",\n".join(map(_line, entries))
            replace_file(self.home.history, f"[\n{lines}\n]\n")
        self._history = entries

    @property
    def history(self) -> list[dict[str, str]]:
        """The completed nodes, in order; of a very long history only the last ones."""
        if self._history is None:
            tail, fd = b"", _open_ours(self.home.history, os.O_RDONLY)
            if fd is not None:
                with closing(fd):
                    tail = _tail(fd, HISTORY_READ)
            lines = tail.decode("utf-8", "replace").split("\n")
            self._history = [entry for line in lines if (entry := _entry(line)) is not None]
        return self._history

    def log(self, node: NodeHome, event: Event) -> None:
        """Add an event to the node's execution trace."""
        line = event.model_dump_json(exclude={"seq", "agent_id"}) + "\n"
        self.open_log(node).write(line.encode("utf-8", "replace"))

    def open_log(self, node: NodeHome) -> IO[bytes]:
        """Return the open trace of a node; the trace of the previous node is closed."""
        path = node.log
        if self._log is None or self._log[0] != path:
            self._close_log()
            fd = open_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            self._log = path, os.fdopen(fd, "ab", buffering=0)
        return self._log[1]

    def close(self) -> None:
        """Close the log, and discard the cached history."""
        self._history = None
        self._close_log()

    def _close_log(self) -> None:
        if self._log is not None:
            self._log[1].close()
            self._log = None


def _open_ours(path: Path, flags: int) -> int | None:
    """Return an open file; None if another kind of file is there, perhaps a model's.

    An error of reading or writing it is raised.
    """
    try:
        return open_file(path, flags, 0o644)
    except OSError as error:
        if not is_about_place(error):
            raise
    return None


def _append_once(path: Path, text: bytes, *, is_synced: bool = True) -> None:
    """Append a text, unless it is near the end already; replace a file of another kind."""
    fd = _open_ours(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    if fd is None:
        replace_bytes(path, read_shown(path).encode() + text, is_synced=is_synced)
        return
    with closing(fd):
        if text not in _tail(fd, len(text) + NEAR):
            patiently(lambda: append_all(fd, text))
            if is_synced:
                sync_data(fd)


def _append_entry(path: Path, entry: dict[str, str]) -> bool:
    """Append an entry to the JSON list in a file and sync it, without reading the whole file.

    Returns False, without any change, if the end of the file was not written by this function.
    """
    fd = _open_ours(path, os.O_RDWR)
    if fd is None:
        return False
    with closing(fd):
        end = os.fstat(fd).st_size - len(LIST_END)
        tail = os.pread(fd, len(LIST_END), end) if end >= 0 else b""
        if tail != (LIST_END if end else EMPTY_LIST):
            return False
        begin = ",\n" if end else "[\n"
        data = f"{begin}{_line(entry)}".encode() + LIST_END

        def write() -> None:
            try:
                _write_at(fd, end, data)
            except OSError:
                _write_at(fd, end, tail)
                os.ftruncate(fd, end + len(tail))
                raise

        patiently(write)
        sync_data(fd)
    return True


def _write_at(fd: int, offset: int, data: bytes) -> None:
    os.lseek(fd, offset, os.SEEK_SET)
    write_all(fd, data)


def _line(entry: dict[str, str]) -> str:
    return json.dumps(entry, ensure_ascii=False)


def _entry(line: str) -> dict[str, str] | None:
    """Return the entry of a line; None if it is not a valid entry."""
    try:
        entry = ENTRY.validate_json(line.rstrip(","))
    except ValidationError:
        return None
    return entry if entry.keys() >= NEEDED else None


def _tail(fd: int, most: int) -> bytes:
    """Return the last bytes of an open file, at most `most`."""
    return read_descriptor(fd, max(0, os.fstat(fd).st_size - most))
