"""Dead letters that the gateway keeps: a journal of what came and of what was sent back."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack

from agiraph.api import ApiError, DeadLetterView
from agiraph.errors import Corrupt
from agiraph.ids import agent_of
from agiraph.messages import DeadLetter
from agiraph.storage.journal import Journal

ID_CHARACTERS = 12


@dataclass(frozen=True, slots=True)
class Kept:
    """One letter, and since when it is here."""

    letter: DeadLetter
    at: float


class DeadLetters:
    """The book of dead letters; one that was sent back may come again."""

    def __init__(self, path: Path) -> None:
        """Open or create the journal. Raises Corrupt, OSError."""
        self._journal = Journal(path)
        self._kept: dict[str, Kept] = {}
        self._sent_by: dict[str, DeadLetterView] = {}
        for number, record in enumerate(self._journal.records, start=1):
            try:
                self._apply(record)
            except (KeyError, TypeError, ValueError) as error:
                raise Corrupt(f"{path}: record {number} is no dead letter ({error})") from error
        self._journal.records = []

    def keep(self, letter: DeadLetter, at: float) -> bool:
        """Write a letter down; return whether it is new here."""
        if letter_id(letter) in self._kept:
            return False
        packed = msgpack.packb(letter.model_dump(mode="python"), use_bin_type=True).hex()
        self._write({"type": "dead", "letter": packed, "at": at})
        return True

    def find(self, id: str) -> DeadLetter:
        """Return a letter; ApiError 404 lists the known."""
        kept = self._kept.get(id)
        if kept is None:
            raise ApiError(404, f"unknown dead letter '{id}' (known: {', '.join(self._kept)})")
        return kept.letter

    def sent_back(self, id: str, cause: str) -> DeadLetterView:
        """Note that a letter is with its receiver again, because of this call; return it."""
        view = _view(id, self._kept[id])
        self._write({"type": "sent_back", "id": id, "cause": cause})
        return view

    def sent_by(self, cause: str) -> DeadLetterView | None:
        """Return the letter that a call has sent back, None if it has sent none."""
        return self._sent_by.get(cause)

    def views(self) -> list[DeadLetterView]:
        """Return every letter as the API shows it, oldest first."""
        return [_view(id, kept) for id, kept in self._kept.items()]

    def close(self) -> None:
        """Close the file."""
        self._journal.close()

    def _write(self, record: dict[str, Any]) -> None:
        self._journal.append(record)
        self._apply(record)

    def _apply(self, record: dict[str, Any]) -> None:
        if record["type"] == "sent_back":
            gone = self._kept.pop(record["id"], None)
            if gone is not None and "cause" in record:
                self._sent_by[record["cause"]] = _view(record["id"], gone)
            return
        values = msgpack.unpackb(bytes.fromhex(record["letter"]), raw=False)
        letter = DeadLetter.model_validate(values)
        self._kept[letter_id(letter)] = Kept(letter, record["at"])


def letter_id(letter: DeadLetter) -> str:
    """Return what people call a letter."""
    return f"d-{letter.letter.hex()[:ID_CHARACTERS]}"


def _view(id: str, kept: Kept) -> DeadLetterView:
    letter = kept.letter
    return DeadLetterView(
        id=id,
        agent=agent_of(letter.to) or "",
        to=letter.to,
        sender=letter.sender,
        type=letter.type,
        cause=letter.cause,
        at=kept.at,
        size=len(letter.content),
    )
