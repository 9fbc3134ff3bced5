"""The message log of a run: every text between two entities, a file each, in order.

    _messages/0001_alice_to_bob.md      FROM, TO, TIME and the text: for people and models
    _messages/.journal.jsonl            the same as records, in segments; authoritative

The record is written first and the file made from it, so after a crash the file is made again under
the same number, and a message that is delivered again (same id) is not added twice.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from agiraph.core.clock import iso
from agiraph.core.errors import Corrupt
from agiraph.core.ids import slug
from agiraph.http.api import MessageView
from agiraph.storage.files import replace_file, status_of
from agiraph.storage.journal import parse_line
from agiraph.storage.segment_reader import Line, SegmentReader
from agiraph.storage.segments import SEGMENT_BYTES, SegmentedJournal

JOURNAL = ".journal.jsonl"
REMEMBERED: Final = 4_096
"""Remembered ids to detect repeats: the router redelivers only the last messages in flight."""

RENDERED: Final = 16
"""Number of files to check when the log is opened: a crash leaves out only the last one."""

TAIL_BYTES: Final = 1 << 18
PAGE: Final = 500


class MessageLog:
    """The message log of one run, for its only writer; opening writes missing files."""

    def __init__(self, folder: Path, most_bytes: int = SEGMENT_BYTES) -> None:
        self._folder = folder
        self._journal = SegmentedJournal(folder / JOURNAL, most_bytes)
        records = self._journal.records
        if self._journal.base:
            records = self._journal.tail_before(TAIL_BYTES) + records
        self._ids: dict[str, None] = {}
        for record in records:
            self._remember(record["id"])
        for record in records[-RENDERED:]:
            self._render(record)
        self._journal.records = []

    def add(
        self,
        id: str,
        sender: str,
        to: str,
        content: str,
        ts: float,
        in_reply_to: str = "",
        copy_of: str = "",
    ) -> bool:
        """Append a message; return False if the log already has it. Raises OSError.

        `in_reply_to` is the id of the answered message, `copy_of` the id of the first copy of a
        text to several receivers.
        """
        if id in self._ids:
            return False
        record = {
            "seq": self._journal.count + 1,
            "id": id,
            "from": sender,
            "to": to,
            "content": content,
            "ts": ts,
        }
        links = {"in_reply_to": in_reply_to, "copy_of": copy_of}
        record |= {name: link for name, link in links.items() if link}
        self._journal.append(record)
        self._remember(id)
        self._render(record)
        return True

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def _remember(self, id: str) -> None:
        self._ids[id] = None
        if len(self._ids) > REMEMBERED:
            del self._ids[next(iter(self._ids))]

    def _render(self, record: dict[str, Any]) -> None:
        path = self._folder / file_name(record["seq"], record["from"], record["to"])
        if status_of(path) is None:
            replace_file(
                path,
                f"FROM: {_one_line(record['from'])}\nTO: {_one_line(record['to'])}\n"
                f"TIME: {iso(record['ts'])}\n\n{record['content']}\n",
            )


def file_name(seq: int, sender: str, to: str) -> str:
    """Return the name of a message's file."""
    return f"{seq:04}_{slug(sender)}_to_{slug(to)}.md"


def read_messages(
    folder: Path,
    after: int = 0,
    limit: int = 1_000,
    entity: str | None = None,
    *,
    other: str | None = None,
    before: int | None = None,
) -> list[MessageView]:
    """Return up to `limit` messages after line `after` of a log that may be growing.

    With `entity`: only messages from or to that name, with `other` only between both. With
    `before`: the last messages before that line. Raises Corrupt, OSError.
    """
    reader, found = SegmentReader(folder / JOURNAL), list[MessageView]()
    wanted = {name.casefold() for name in (entity, other) if name}
    if before is None:
        while len(found) < limit and (lines := reader.lines(after, PAGE)):
            after = lines[-1][0]
            found += _wanted(folder, lines, wanted)
        return found[:limit]
    end = min(before - 1, reader.last())
    while len(found) < limit and end > after:
        start = max(after, end - PAGE)
        found[:0] = _wanted(folder, reader.lines(start, end - start), wanted)
        end = start
    return found[-limit:]


def _wanted(folder: Path, lines: list[Line], names: set[str]) -> Iterator[MessageView]:
    """Yield the messages that have all of these names as sender or receiver. Raises Corrupt."""
    for seq, line in lines:
        record = parse_line(line.rstrip(b"\n"))[0]
        if record is None:
            raise Corrupt(f"{folder / JOURNAL}: message {seq} is damaged")
        if names <= {record["from"].casefold(), record["to"].casefold()}:
            yield MessageView.model_validate(record)


def _one_line(name: str) -> str:
    return " ".join(name.split())
