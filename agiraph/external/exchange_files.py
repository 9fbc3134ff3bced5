"""ExchangeFolder: the files through which an external agent and its team write to each other.

| file             | written by | contents                                                  |
| ---------------- | ---------- | --------------------------------------------------------- |
| `_task.md`       | us         | the task, and how to use these files                      |
| `_context.json`  | us         | the goal, the team, the paths that it may read            |
| `_inbox.md`      | us         | every message to it, the newest last                      |
| `_outbox.md`     | the agent  | messages to others (`outbox`)                             |
| `_checkpoint.md` | the agent  | its progress; reported as a milestone, and read after a restart |
| `_result.md`     | the agent  | its result: then its work is finished                  |

They are in its working folder (`scratch/`). When the node is published, `_result.md` is published
with the rest; the others are moved into the node's folder.
"""

import json
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agiraph.core.turns import JsonObject
from agiraph.storage.files import (
    files_below,
    is_file,
    is_folder,
    move,
    open_file,
    read_descriptor,
    remove_file,
    replace_file,
)
from agiraph.tools.scopes.publishing import is_named

TASK, CONTEXT, INBOX, OUTBOX = "_task.md", "_context.json", "_inbox.md", "_outbox.md"
CHECKPOINT, RESULT = "_checkpoint.md", "_result.md"
NOT_PUBLISHED = (TASK, CONTEXT, INBOX, OUTBOX, CHECKPOINT)
READ_LIMIT_BYTES = 1024 * 1024
FAILED = "FAILED:"
SHOWN_WHOLE_CHARACTERS, SHOWN_WHOLE_LINES = 8000, 200
"""Agents shorten longer tool output: it is unknown how much of it their model read."""


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, and a stamp that changes with the file."""

    text: str
    stamp: tuple[int, int]


class ExchangeFolder:
    """The exchange files in `folder`. A link that the agent put there is not followed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def reset(self) -> None:
        """Prepare for a node's first start: no result, and an empty outbox."""
        for name in (RESULT, OUTBOX):
            self._remove(name)
        self.write(OUTBOX, "")

    def write(self, name: str, text: str) -> None:
        """Replace the exchange file `name`."""
        replace_file(self.folder / name, text)

    def write_context(self, context: JsonObject) -> None:
        """Write `_context.json`."""
        self.write(CONTEXT, json.dumps(context, ensure_ascii=False, indent=2) + "\n")

    def write_inbox(self, messages: Iterable[str]) -> None:
        """Write `_inbox.md`: every message so far, as displayed."""
        self.write(INBOX, "".join(f"{message.strip()}\n\n---\n\n" for message in messages))

    def read(self, name: str) -> FileText | None:
        """Return the agent's text in a file; None if it is missing or blank."""
        try:
            fd = open_file(self.folder / name)
        except OSError:
            return None
        try:
            status = os.fstat(fd)
            text = read_descriptor(fd, 0, READ_LIMIT_BYTES).decode("utf-8", "replace")
        except OSError:
            return None
        finally:
            os.close(fd)
        return FileText(text, (status.st_mtime_ns, status.st_size)) if text.strip() else None

    def text(self, name: str) -> str:
        """Return the agent's text in a file, stripped; '' if it is missing."""
        found = self.read(name)
        return found.text.strip() if found else ""

    def move_beside(self, node: Path) -> None:
        """Move the exchange files that are not published into the folder `node`.

        A repeated call is harmless.
        """
        for name in NOT_PUBLISHED:
            if is_file(self.folder / name):
                move(self.folder / name, node / name)

    def move_back(self, node: Path) -> None:
        """Move back the files that the agent continues to write, after its result was refused.

        `_result.md` is removed: the agent has to write a new one.
        """
        for name in (OUTBOX, CHECKPOINT):
            if is_file(node / name) and not is_file(self.folder / name):
                move(node / name, self.folder / name)
        self._remove(RESULT)

    def has_work(self, but: Iterable[str] = ()) -> bool:
        """Whether the folder has work of the agent: no exchange files, no matches of `but`."""
        ours = (*NOT_PUBLISHED, RESULT, *but)
        return any(not is_named(path.parts[0], ours) for path, _ in files_below(self.folder))

    def _remove(self, name: str) -> None:
        path = self.folder / name
        if is_folder(path):
            move(path, path.with_name(f"{name}.folder-{secrets.token_hex(4)}"))
        else:
            remove_file(path)


def is_shown_in(message: str, output: str) -> bool:
    """Whether a tool's output certainly contains every line of a message."""
    if len(output) > SHOWN_WHOLE_CHARACTERS or output.count("\n") > SHOWN_WHOLE_LINES:
        return False
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return bool(lines) and all(line in output for line in lines)


def failure_in(result: str) -> str:
    """Return the reason in a result that begins with `FAILED:`, '' for any other result."""
    first, _, rest = result.partition("\n")
    if not first.strip().upper().startswith(FAILED):
        return ""
    return f"{first.strip()[len(FAILED) :]}\n{rest}".strip() or "it gave no reason"
