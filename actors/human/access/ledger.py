"""What the audit says of a call: who, what, when, with which outcome; never a secret.

What changes something and what stays open has two lines with one `id`: the first, its `status`
null, before anything is done, so that a call by which the gateway dies stands there too.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from actors.human.access.audit import AuditFile
from actors.human.access.callers import STRANGER, Caller
from actors.human.access.keys import SHORTEST_SECRET, Keys
from actors.human.access.scopes import OPEN_PREFIXES, READS
from actors.human.problems import no_room
from agiraph.api import ApiError
from agiraph.clock import Clock
from agiraph.redaction import BLOT, redact
from agiraph.storage.room import has_room, is_full_disk

LONGEST_REASON: Final = 300
LONGEST_PATH: Final = 500
MOST_PATHS: Final = 512
QUIET_SECONDS: Final = 1.0
TOO_MANY: Final = 429


@dataclass(slots=True)
class Call:
    """One call on its way through the gate."""

    method: str
    path: str
    client: str
    began_at: float
    id: str = field(default_factory=lambda: secrets.token_hex(6))
    caller: Caller = STRANGER


class Ledger:
    """Writes calls into the audit."""

    def __init__(self, file: AuditFile, keys: Keys, clock: Clock, log: Any) -> None:
        """Write to `file`; `keys` knows what no line may hold."""
        self._file = file
        self._keys = keys
        self._clock = clock
        self._log = log
        self._held_back = 0
        self._quiet_until = 0.0
        self.close: Callable[[], None] = file.close

    def open(self, method: str, path: str, client: str) -> Call:
        """Return a call that begins now."""
        return Call(method, path, client, self._clock.monotonic())

    def begun(self, call: Call) -> None:
        """Write that a call begins; ApiError 503 if that cannot be written: then it must not.

        Nothing new begins on a full disk (ApiError 507) but what only reads.
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

    def ended(self, call: Call, status: int, reason: str = "") -> None:
        """Write how a call ended; of many that were one too many, one line a second."""
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

    def _line(self, call: Call) -> dict[str, Any]:
        who: dict[str, Any] = {"who": call.caller.name or None}
        if call.caller.session:
            who["session"] = call.caller.session
        return {
            "ts": round(self._clock.now(), 3),
            "id": call.id,
            **who,
            "method": call.method,
            "path": self._speakable(call.path),
            "client": call.client,
        }

    def _speakable(self, path: str) -> str:
        """Return a path without anything that opens something."""
        path = path[:LONGEST_PATH]
        parts = path.split("/")
        if max(map(len, parts)) >= SHORTEST_SECRET:
            path = "/".join(map(self._without_secret, parts))
        return _told(path)

    def _without_secret(self, part: str) -> str:
        is_long = len(part) >= SHORTEST_SECRET
        return BLOT if is_long and self._keys.is_secret(part.strip()) else part


@lru_cache(MOST_PATHS)
def _told(path: str) -> str:
    """Return a path without what looks like a secret; most calls are about the same few."""
    found = next((prefix for prefix in OPEN_PREFIXES if path.startswith(prefix)), None)
    return f"{found}..." if found is not None else str(redact(path))
