"""The audit log: one line for every call, in files of bounded number and size.

A line is appended in one `write`, without waiting for the disk: it survives a kill of the gateway;
after a power failure the last seconds may be missing. A line contains nothing of a query or a body,
and no part of a path that is a secret.
"""

import json
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from pydantic_core import to_json

from agiraph.api.auth.credential_store import SHORTEST_SECRET, CredentialStore
from agiraph.api.auth.credentials import STRANGER, Principal
from agiraph.api.auth.scopes import OPEN_PREFIXES, READS
from agiraph.api.problems import no_room
from agiraph.core.clock import Clock
from agiraph.core.json_text import parse_json
from agiraph.core.redaction import BLOT, redact
from agiraph.http.errors import ApiError
from agiraph.messages.host import HostRefused
from agiraph.storage.disk_space import has_room, is_full_disk
from agiraph.storage.files import (
    is_file,
    make_folder,
    move,
    open_file,
    read_bytes,
    remove_file,
)

LONGEST_REASON: Final = 300
LONGEST_PATH: Final = 500
LONGEST_LINE: Final = 10_000
"""Bytes by which a file may exceed `most_bytes`."""
MOST_PATHS: Final = 512
QUIET_SECONDS: Final = 1.0
TOO_MANY: Final = 429
BAD_REQUEST: Final = 400
FORBIDDEN: Final = 403
UPLINK: Final = "UPLINK"
ID_LENGTH: Final = 12

FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT
ENCODE = json.JSONEncoder(separators=(",", ":")).encode


def _line(record: dict[str, Any]) -> bytes:
    try:
        return to_json(record) + b"\n"
    except ValueError:  # invalid Unicode, for example in a file name
        return ENCODE(record).encode() + b"\n"


def _record(line: bytes) -> dict[str, Any]:
    """Return the record of a line, or {} for a line that a crash cut off."""
    try:
        record = parse_json(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) and "id" in record else {}


class AuditFile:
    """`audit.jsonl` and its predecessors `audit.jsonl.1` ...: `files` of `most_bytes` each."""

    def __init__(self, path: Path, most_bytes: int, files: int) -> None:
        self.folder = path.parent
        self._path = path
        self._most_bytes = most_bytes
        self._files = files
        self._fd: int | None = None
        self._size = 0

    def write(self, record: dict[str, Any]) -> None:
        """Append one record. Raises OSError."""
        line = _line(record)
        fd = self._opened()
        if self._size and self._size + len(line) > self._most_bytes:
            self._turn_over()
            fd = self._opened()
        os.write(fd, line)
        self._size += len(line)

    def latest(self, most: int, *, refused: bool = False) -> list[dict[str, Any]]:
        """Return the last calls, oldest first, each once; with `refused` only refused calls.

        Raises OSError.
        """
        found: dict[str, dict[str, Any]] = {}
        for number in range(self._files):
            if not is_file(path := self._numbered(number)):
                break
            for line in reversed(read_bytes(path, self._most_bytes + LONGEST_LINE).splitlines()):
                record = _record(line)
                status = record.get("status")
                if record.get("id") in found or not record:
                    continue
                if not refused or (status is not None and status >= BAD_REQUEST):
                    found[record["id"]] = record
                if len(found) == most:
                    return list(found.values())[::-1]
        return list(found.values())[::-1]

    def close(self) -> None:
        """Close the file; the next write opens it again."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _opened(self) -> int:
        """Return the open file; create it again if it was deleted."""
        if self._fd is not None and not os.fstat(self._fd).st_nlink:
            self.close()
        if self._fd is None:
            make_folder(self._path.parent, 0o700)
            self._fd = open_file(self._path, FLAGS)
            self._size = os.fstat(self._fd).st_size
        return self._fd

    def _turn_over(self) -> None:
        """Rename each file to the next number; the last file is deleted."""
        self.close()
        for number in range(self._files - 1, 0, -1):
            older = self._numbered(number)
            newer = self._numbered(number - 1)
            if is_file(newer):
                move(newer, older)
        if self._files == 1:
            remove_file(self._path)

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path


@dataclass(slots=True)
class AuditedCall:
    """A call that is being served."""

    method: str
    path: str
    client: str
    began_at: float
    id: str = field(default_factory=lambda: secrets.token_hex(6))
    caller: Principal = STRANGER


class AuditLog:
    """Writes calls into the audit log; `keys` recognizes the secrets that no line may contain."""

    def __init__(self, file: AuditFile, keys: CredentialStore, clock: Clock, log: Any) -> None:
        self._file = file
        self._keys = keys
        self._clock = clock
        self._log = log
        self._held_back = 0
        self._quiet_until = 0.0
        self.close: Callable[[], None] = file.close
        self.latest = file.latest

    def open(self, method: str, path: str, client: str) -> AuditedCall:
        """Return the record of a call that begins now; nothing is written yet."""
        return AuditedCall(method, path, client, self._clock.monotonic())

    def begun(self, call: AuditedCall) -> None:
        """Write the beginning of a call. If that fails, ApiError 503: the call must not begin.

        On a full disk every call except a reading call is refused with ApiError 507.
        """
        only_reads = call.method in READS
        try:
            if not (only_reads or has_room(self._file.folder)):
                raise no_room(self._file.folder.parent)
            self._file.write(self._line(call) | {"status": None})
        except OSError as error:
            if only_reads and is_full_disk(error):
                return
            raise ApiError(503, f"the audit cannot be written ({error.strerror})") from error

    def ended(self, call: AuditedCall, status: int, reason: str = "") -> None:
        """Write the end of a call with its HTTP status, and `reason` if it was refused.

        Of calls above the rate limit one line a second is written.
        """
        now = self._clock.monotonic()
        if status == TOO_MANY and now < self._quiet_until:
            self._held_back += 1
            return
        if status == TOO_MANY:
            self._quiet_until = now + QUIET_SECONDS
        line = self._line(call) | {"status": status, "ms": round((now - call.began_at) * 1000, 1)}
        if reason:
            line["reason"] = redact(reason)[:LONGEST_REASON]
        if self._held_back:
            line["held_back"], self._held_back = self._held_back, 0
        try:
            self._file.write(line)
        except OSError as error:
            self._log.error("the audit cannot be written", reason=str(error))

    def host_refused(self, refusal: HostRefused, id: str) -> None:
        """Write that the uplink refused a machine; `id` is the id of the message that reported it.

        Raises OSError.
        """
        is_known = "/" in refusal.peer
        line: dict[str, Any] = {
            "ts": round(self._clock.now(), 3),
            "id": id[:ID_LENGTH],
            "who": refusal.peer if is_known else None,
            "method": UPLINK,
            "path": "",
            "client": "" if is_known else refusal.peer,
            "status": FORBIDDEN,
            "reason": redact(refusal.reason)[:LONGEST_REASON],
        }
        if refusal.held_back:
            line["held_back"] = refusal.held_back
        self._file.write(line)

    def _line(self, call: AuditedCall) -> dict[str, Any]:
        who: dict[str, Any] = {"who": call.caller.name or None}
        if call.caller.login:
            who["login"] = call.caller.login
        return {
            "ts": round(self._clock.now(), 3),
            "id": call.id,
            **who,
            "method": call.method,
            "path": self._redacted_path(call.path),
            "client": call.client,
        }

    def _redacted_path(self, path: str) -> str:
        """Return a path without the secrets in it."""
        path = path[:LONGEST_PATH]
        parts = path.split("/")
        if max(map(len, parts)) >= SHORTEST_SECRET:
            path = "/".join(map(self._without_secret, parts))
        return _shown_path(path)

    def _without_secret(self, part: str) -> str:
        is_long = len(part) >= SHORTEST_SECRET
        return BLOT if is_long and self._keys.is_secret(part.strip()) else part


@lru_cache(MOST_PATHS)
def _shown_path(path: str) -> str:
    """Return a path with texts that look like secrets replaced.

    Cached: most calls repeat a path.
    """
    found = next((prefix for prefix in OPEN_PREFIXES if path.startswith(prefix)), None)
    return f"{found}..." if found is not None else str(redact(path))
