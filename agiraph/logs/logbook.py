"""Reading logs: found by entity, merged by time, followed.

The files of the home are read directly: logs matter most when no process answers.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agiraph.core.json_text import parse_json
from agiraph.core.naming import meant
from agiraph.logs.event_filter import names_of
from agiraph.logs.log_file import SUFFIX, log_files
from agiraph.storage.files import entries, open_file, read_bytes, status_of
from agiraph.storage.walk import UnsafeFile

JsonObject = dict[str, Any]
LEVELS: Final = ("debug", "info", "warning", "error", "critical")
MOST_BYTES: Final = 1 << 30
STDERR: Final = ".log"
"""An entity that has logged nothing has only the file of its stderr."""


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Selects log lines: from `since` on (ISO 8601 in UTC, '': any), of `level` or above."""

    since: str = ""
    level: str = "debug"

    def matches(self, line: JsonObject) -> bool:
        """Whether the query selects a line."""
        level = str(line.get("level"))
        rank = LEVELS.index(level) if level in LEVELS else len(LEVELS)
        return rank >= LEVELS.index(self.level) and str(line.get("timestamp", "")) >= self.since


def logs_of(folder: Path, entity: str | None) -> list[Path]:
    """Return the logs of an entity, or of all.

    `entity` is an address, a name or an agent, or the beginning of one; None: all. Raises
    InvalidInput with the known names, Ambiguous.
    """
    files = [name for name in _names_in(folder) if name.endswith((SUFFIX, STDERR))]
    names = sorted({name.removesuffix(SUFFIX).removesuffix(STDERR) for name in files})
    known = {name: folder / f"{name}{SUFFIX}" for name in names}
    if entity is None:
        return list(known.values())
    wanted = entity.casefold().replace("/", ".")
    found = [path for name, path in known.items() if wanted in _aliases(name)]
    return found or _beginning_with(entity, known)


def _beginning_with(entity: str, known: Mapping[str, Path]) -> list[Path]:
    """Return the logs of the only entity with a name that begins with `entity`.

    Raises Ambiguous.
    """
    logs: dict[str, tuple[Path, ...]] = {}
    for name, path in known.items():
        for shown in {alias.replace(".", "/", 1) for alias in _aliases(name)}:
            if ("/" in shown) == ("/" in entity):
                logs[shown] = (*logs.get(shown, ()), path)
    aliases = {found: alias for alias, found in sorted(logs.items(), reverse=True)}
    addresses = [name.replace(".", "/", 1) for name in known]
    return [*meant("log", entity, logs.items(), aliases.__getitem__, addresses)]


def _names_in(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in entries(folder)]
    except FileNotFoundError:
        return []


def _aliases(name: str) -> set[str]:
    """Return the names by which a log is found: its entity's address and names, its agent."""
    agent, _, inner = name.casefold().partition(".")
    names = names_of(f"{agent}/{inner}") if inner else names_of(agent)
    # An agent's id is its name and six characters: `survey` means the agent `survey-1f2e3d` too.
    team = {agent.rpartition("-")[0]} - {""} if inner else set()
    return {name.casefold(), agent, *names, *team, *(f"{agent}.{one}" for one in names)}


def read_past(logs: Iterable[Path], wanted: LogQuery) -> list[JsonObject]:
    """Return every matching line of these logs, merged by time."""
    lines = [
        line
        for log in logs
        for file in log_files(log)
        for line in _lines(file)
        if wanted.matches(line)
    ]
    return sorted(lines, key=lambda line: str(line.get("timestamp", "")))


def read_latest(logs: Iterable[Path], wanted: LogQuery, most: int) -> list[JsonObject]:
    """Return the last `most` matching lines of these logs, merged by time.

    Only as many files of each log are read as necessary, the newest first.
    """
    lines: list[JsonObject] = []
    for log in logs:
        found: list[JsonObject] = []
        for file in reversed(log_files(log)):
            found = [*(line for line in _lines(file) if wanted.matches(line)), *found]
            if len(found) >= most:
                break
        lines += found[-most:]
    return sorted(lines, key=lambda line: str(line.get("timestamp", "")))[-most:]


def _lines(file: Path) -> Iterator[JsonObject]:
    try:
        data = read_bytes(file, MOST_BYTES, anyones=True)
    except OSError:
        return
    for text in data.splitlines():
        line = _parsed(text)
        if line is not None:
            yield line


def _parsed(text: bytes) -> JsonObject | None:
    try:
        line = parse_json(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


class LogTail:
    """Follows one log from its present end on (`from_start`: from its start), across rotations.

    The log may not exist yet.
    """

    def __init__(self, path: Path, *, from_start: bool = False) -> None:
        self._path = path
        self._fd: int | None = None
        self._rest = b""
        self._open(path, from_start)

    def new(self) -> list[JsonObject]:
        """Return the complete lines that were added since the last call, parsed."""
        lines = self._read()
        while (following := self._following()) is not None:
            lines += self._read()  # lines written before the rotation
            self.close()
            self._open(following, True)
            lines += self._read()
        return lines

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self, path: Path, from_start: bool) -> None:
        try:
            self._fd = open_file(path, anyones=True)
        except (FileNotFoundError, UnsafeFile):
            return
        if not from_start:
            os.lseek(self._fd, 0, os.SEEK_END)

    def _following(self) -> Path | None:
        """Return the next file after a rotation, None if the open file is still the newest."""
        files = log_files(self._path)
        if self._fd is None:
            return files[0] if files else None
        ours = os.fstat(self._fd).st_ino
        for number, file in enumerate(files):
            status = status_of(file)
            if status is None:
                return None  # rotated at this moment: read again later
            if status.st_ino == ours:
                return files[number + 1] if number + 1 < len(files) else None
        return files[0] if files else None

    def _read(self) -> list[JsonObject]:
        if self._fd is None:
            return []
        pieces = []
        while piece := os.read(self._fd, 1 << 16):
            pieces.append(piece)
        *whole, self._rest = (self._rest + b"".join(pieces)).split(b"\n")
        return [line for text in whole if (line := _parsed(text)) is not None]
