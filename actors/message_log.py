"""The message log of a run: every text between two entities, a file each, in order.

    _messages/0001_alice_to_bob.md      FROM, TO, TIME and the text: for people and models
    _messages/.journal.jsonl            the same as records; what counts

The record is written first and the file made from it, so after a crash the file is made again
under the same number, and a message that is delivered again (same id) leaves no second trace.
"""

from pathlib import Path
from typing import Any

from agiraph.api import MessageView
from agiraph.clock import iso
from agiraph.ids import slug
from agiraph.storage.files import replace_file, status_of
from agiraph.storage.journal import Journal, read_journal

JOURNAL = ".journal.jsonl"


class MessageLog:
    """The log of one run; one process writes it."""

    def __init__(self, folder: Path) -> None:
        """Open or create the log in `folder` and make the files that a crash left out."""
        self._folder = folder
        self._journal = Journal(folder / JOURNAL)
        self._ids = {record["id"] for record in self._journal.records}
        for record in self._journal.records:
            self._render(record)
        self._journal.records = []

    def add(
        self, id: str, sender: str, to: str, content: str, ts: float, in_reply_to: str = ""
    ) -> bool:
        """Write a message down; return False if it stood there. Raises OSError.

        `in_reply_to` is the id of the message that it answers.
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
        if in_reply_to:
            record["in_reply_to"] = in_reply_to
        self._journal.append(record)
        self._ids.add(id)
        self._render(record)
        return True

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

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


def read_message_log(folder: Path) -> list[MessageView]:
    """Return all messages of a log that another process may be writing; [] if there is none."""
    return [MessageView.model_validate(record) for record in read_journal(folder / JOURNAL)]


def _one_line(name: str) -> str:
    return " ".join(name.split())
