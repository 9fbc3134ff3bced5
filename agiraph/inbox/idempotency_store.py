"""Idempotency keys and the answers to their calls, so that a repeated call has its effect once.

The state is the fold of a journal of these records:

    begun     a new key, with the fingerprint of its call; the call has had no effect yet
    answered  the call was executed, and this is its answer

A key that has begun and has no answer was interrupted: its call is executed again, with the same
cause (`agiraph.api.call_cause`). Only successful answers are kept: a refused call has no effect.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agiraph.core.errors import Corrupt
from agiraph.http.api.base import KEY_REUSED
from agiraph.http.errors import ApiError
from agiraph.storage.files import replace_bytes
from agiraph.storage.journal import Journal, encode_record, read_journal

KEPT_SECONDS = 24 * 3600.0
MOST_KEPT = 20_000
UNPROCESSABLE = 422

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The record of one key; `body` is None until the call was answered."""

    print: str
    at: float
    status: int = 0
    media_type: str = ""
    body: str | None = None


class IdempotencyStore:
    """The keys, in one journal on disk; old keys are removed. Raises Corrupt, OSError."""

    def __init__(self, path: Path, now: float, most: int = MOST_KEPT) -> None:
        self._path = path
        self._most = most
        with Journal(path) as journal:
            _shorten(path, journal.records, now - KEPT_SECONDS, most)
        self._open()

    def begin(self, key: str, print: str, now: float) -> StoredAnswer:
        """Return the record of a key, stored now if the key is new.

        `print` is the fingerprint of the call. Raises ApiError 422 for a key that was used before
        with another call.
        """
        known = self._kept.get(key)
        if known is None:
            self._make_room(now)
            self._write({"type": "begun", "key": key, "print": print, "at": now})
            return self._kept[key]
        if known.print != print:
            raise ApiError(
                UNPROCESSABLE,
                f"Idempotency-Key '{key}' came before with another request; make a new key",
                KEY_REUSED,
            )
        return known

    def __contains__(self, key: str) -> bool:
        """Whether a key was used before."""
        return key in self._kept

    def answered(self, key: str, status: int, media_type: str, body: str) -> None:
        """Store the answer of a call; wait until it is on disk."""
        record = {"type": "answered", "key": key, "status": status, "media_type": media_type}
        self._write({**record, "body": body})

    def close(self) -> None:
        """Close the file."""
        self._journal.close()

    def _open(self) -> None:
        self._journal = Journal(self._path)
        self._kept: dict[str, StoredAnswer] = {}
        for number, record in enumerate(self._journal.records, start=1):
            try:
                _apply(self._kept, record)
            except (KeyError, TypeError, ValueError) as error:
                raise Corrupt(f"{self._path}: record {number} is none of a key ({error})") from None
        self._journal.records = []

    def _make_room(self, now: float) -> None:
        """Remove old keys; if there are still too many, remove the older half."""
        if len(self._kept) < self._most:
            return
        self._journal.close()
        records = read_journal(self._path)
        _shorten(self._path, records, now - KEPT_SECONDS, self._most // 2)
        self._open()

    def _write(self, record: JsonObject) -> None:
        self._journal.append(record)
        _apply(self._kept, record)


def _apply(kept: dict[str, StoredAnswer], record: JsonObject) -> None:
    match record["type"]:
        case "begun":
            kept[record["key"]] = StoredAnswer(print=record["print"], at=record["at"])
        case "answered":
            kept[record["key"]] = replace(
                kept[record["key"]],
                status=record["status"],
                media_type=record["media_type"],
                body=record["body"],
            )
        case other:
            raise ValueError(f"unknown record '{other}'")


def _shorten(path: Path, records: list[JsonObject], since: float, most: int) -> None:
    """Rewrite a journal with the keys used after `since`, the newest `most` of them."""
    begun = {r["key"]: r["at"] for r in records if r.get("type") == "begun"}
    newest = sorted(begun, key=lambda key: begun[key], reverse=True)
    gone = {key for place, key in enumerate(newest) if place >= most or begun[key] <= since}
    if gone:
        left = (record for record in records if record.get("key") not in gone)
        replace_bytes(path, b"".join(encode_record(record) for record in left), 0o600)
