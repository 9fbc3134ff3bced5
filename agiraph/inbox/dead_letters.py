"""DeadLetterStore: the dead letters of the home, until they are sent back."""

from collections.abc import Iterator

import msgpack

from agiraph.core.errors import listed
from agiraph.core.ids import agent_of
from agiraph.http.api import ApiError, DeadLetterView
from agiraph.inbox.database import GatewayDatabase
from agiraph.messages.control import DeadLetter
from agiraph.storage.database import Statement

ID_CHARACTERS = 12


class DeadLetterStore:
    """The dead letters. A letter that was sent again may return. Raises Corrupt, OSError."""

    def __init__(self, database: GatewayDatabase) -> None:
        self.database = database

    def add(self, letter: DeadLetter, at: float) -> bool:
        """Store a letter; return whether it is new."""
        id = letter_id(letter)
        if self.database.rows("SELECT 1 FROM letters WHERE id = ?", id):
            return False
        self.database.write(_kept(id, letter, at))
        return True

    def find(self, id: str) -> DeadLetter:
        """Return a letter. Raises ApiError 404 that lists the known ids."""
        found = self.database.rows("SELECT letter FROM letters WHERE id = ?", id)
        if not found:
            known = [row[0] for row in self.database.rows("SELECT id FROM letters ORDER BY number")]
            raise ApiError(404, f"unknown dead letter '{id}' (known: {listed(known)})")
        with self.database.parsing():
            return _unpacked(found[0][0])

    def sent_back(self, id: str, cause: str) -> DeadLetterView:
        """Record that this call sent a letter back to its receiver; return it."""
        [(letter, at)] = self.database.rows("SELECT letter, at FROM letters WHERE id = ?", id)
        with self.database.parsing():
            view = _view(id, _unpacked(letter), at)
        self.database.write(*_sent(id, cause, view))
        return view

    def sent_by(self, cause: str) -> DeadLetterView | None:
        """Return the letter that a call has sent back, None if it has sent none."""
        found = self.database.rows('SELECT "view" FROM sent_letters WHERE cause = ?', cause)
        with self.database.parsing():
            return DeadLetterView.model_validate_json(found[0][0]) if found else None

    def views(self) -> list[DeadLetterView]:
        """Return every letter as the API shows it, oldest first."""
        rows = self.database.rows("SELECT id, letter, at FROM letters ORDER BY number")
        with self.database.parsing():
            return [_view(id, _unpacked(letter), at) for id, letter, at in rows]


def letter_id(letter: DeadLetter) -> str:
    """Return the id by which people name a letter."""
    return f"d-{letter.letter.hex()[:ID_CHARACTERS]}"


def _kept(id: str, letter: DeadLetter, at: float) -> Statement:
    packed = msgpack.packb(letter.model_dump(mode="python"), use_bin_type=True)
    return "INSERT OR IGNORE INTO letters (id, letter, at) VALUES (?, ?, ?)", (id, packed, at)


def _sent(id: str, cause: str, view: DeadLetterView) -> Iterator[Statement]:
    yield "DELETE FROM letters WHERE id = ?", (id,)
    yield "INSERT OR REPLACE INTO sent_letters VALUES (?, ?)", (cause, view.model_dump_json())


def _unpacked(packed: bytes) -> DeadLetter:
    return DeadLetter.model_validate(msgpack.unpackb(packed, raw=False))


def _view(id: str, letter: DeadLetter, at: float) -> DeadLetterView:
    shown = {"id": id, "agent": agent_of(letter.to) or "", "at": at, "size": len(letter.content)}
    return DeadLetterView.model_validate(dict(letter) | shown)
