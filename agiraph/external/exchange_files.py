"""ExchangeFolder: the files in its folder through which an outside agent and its team speak.

| file             | written by | holds                                                        |
| ---------------- | ---------- | ------------------------------------------------------------ |
| `_task.md`       | us         | the task, and how to use these files                         |
| `_context.json`  | us         | the goal, the team, the paths of what it may read            |
| `_inbox.md`      | us         | every message to it, the newest last                         |
| `_outbox.md`     | the agent  | what it wants to say (`outbox`)                              |
| `_checkpoint.md` | the agent  | how far it is; told as a milestone, and what it goes on from |
| `_result.md`     | the agent  | what it has done: then it is done                            |

They stand where it works (`scratch/`). When the node is published, `_result.md` is published with
the rest; the others are laid beside, into the node's folder.
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
LAID_BESIDE = (TASK, CONTEXT, INBOX, OUTBOX, CHECKPOINT)
MOST_BYTES = 1024 * 1024
FAILED = "FAILED:"
SURELY_GIVEN, SURELY_GIVEN_LINES = 8000, 200


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file's words, and what tells whether it has changed since."""

    text: str
    stamp: tuple[int, int]


class ExchangeFolder:
    """The files in one folder. What the agent put there is never followed if it is a link."""

    def __init__(self, folder: Path) -> None:
        """Look at the files in `folder`, which exists."""
        self.folder = folder

    def begin(self) -> None:
        """Let a node's work begin: nothing is said yet, nothing is done."""
        for name in (RESULT, OUTBOX):
            self._remove(name)
        self.write(OUTBOX, "")

    def write(self, name: str, text: str) -> None:
        """Write one of our files whole."""
        replace_file(self.folder / name, text)

    def write_context(self, about: JsonObject) -> None:
        """Write `_context.json`."""
        self.write(CONTEXT, json.dumps(about, ensure_ascii=False, indent=2) + "\n")

    def write_inbox(self, heard: Iterable[str]) -> None:
        """Write every message that came so far."""
        self.write(INBOX, "".join(map(entry, heard)))

    def read(self, name: str) -> SeenFile | None:
        """Return what the agent wrote there; None if there is no such file, or nothing in it."""
        try:
            fd = open_file(self.folder / name)
        except OSError:
            return None
        try:
            about = os.fstat(fd)
            text = read_descriptor(fd, 0, MOST_BYTES).decode("utf-8", "replace")
        except OSError:
            return None
        finally:
            os.close(fd)
        stamp = (about.st_mtime_ns, about.st_size)
        return SeenFile(text, stamp) if text.strip() else None

    def text(self, name: str) -> str:
        """Return what the agent wrote there, '' if nothing."""
        seen = self.read(name)
        return seen.text.strip() if seen else ""

    def lay_beside(self, node: Path) -> None:
        """Move all but the result out of what is published; again after a crash, the rest."""
        for name in LAID_BESIDE:
            if is_file(self.folder / name):
                move(self.folder / name, node / name)

    def take_back(self, node: Path) -> None:
        """Move back what the agent goes on writing: what it had left was refused.

        Its result is removed: the next one has to be written.
        """
        for name in (OUTBOX, CHECKPOINT):
            if is_file(node / name) and not is_file(self.folder / name):
                move(node / name, self.folder / name)
        self._remove(RESULT)

    def has_work(self, but: Iterable[str] = ()) -> bool:
        """Whether a file is below the folder besides these, and what matches a name of `but`."""
        ours = (*LAID_BESIDE, RESULT, *but)
        files = files_below(self.folder)
        return any(not is_named(path.parts[0], ours) for path, _ in files)

    def _remove(self, name: str) -> None:
        path = self.folder / name
        if is_folder(path):
            move(path, path.with_name(f"{name}.folder-{secrets.token_hex(4)}"))
        else:
            remove_file(path)


def entry(shown: str) -> str:
    """Return a message as it stands in `_inbox.md`."""
    return f"{shown.strip()}\n\n---\n\n"


def is_shown_in(shown: str, output: str) -> bool:
    """Whether a tool's output shows a message whole: each of its lines.

    Of a long output it is not known how much the agent's model was given.
    """
    if len(output) > SURELY_GIVEN or output.count("\n") > SURELY_GIVEN_LINES:
        return False
    lines = [line.strip() for line in shown.splitlines() if line.strip()]
    return bool(lines) and all(line in output for line in lines)


def failure_in(result: str) -> str:
    """Return why the agent says that it has failed; '' if its result does not say so."""
    first, _, rest = result.partition("\n")
    if not first.strip().upper().startswith(FAILED):
        return ""
    return f"{first.strip()[len(FAILED) :]}\n{rest}".strip() or "it said no more than that"
