"""Files: between an entity on another machine and the home, by the service `files`.

Paths are relative to a root, by default the agent's home (`runs/R/workers/W/conversation.jsonl`). A
sender may read the paths in its scope, and write only its own folder and the folder of its current
node. All are passing requests: a sender without an answer repeats its request, and a repeated
request changes nothing twice.
"""

from typing import Annotated, Literal

from pydantic import Field

from agiraph.core.record import Record
from agiraph.messages.body import MessageBody
from agiraph.storage.file_records import FileEntry, FileOffer, FileRoot

DISK_FULL = "DiskFull"
"""The kind of a refusal for lack of disk space at home: the sender repeats the request later."""

PART_BYTES = 1 << 20
"""The largest part of a file in one message."""

MOST_PATHS = 100
"""Paths in one request for a listing."""

MOST_CHANGES = 1000
"""Changes in one request."""


class ListFiles(MessageBody):
    """Request all entries below these paths that the sender may read. Worker to `files`.

    A missing path has no entries; an empty path at the root `shared` names all shared files.
    `known` is the `version` of an earlier answer: if nothing has changed, the answer is empty and
    has the same version. `after` is the last path of the part before. `has_contents`: contents of
    small files are requested too. Answered by `files.listed`.
    """

    TYPE = "files.list"
    below: tuple[str, ...] = Field(default=(), max_length=MOST_PATHS)
    root: FileRoot = "home"
    known: str = ""
    after: str = ""
    has_contents: bool = False


class FilesListed(MessageBody):
    """The entries, in the order of their paths; `has_more`: the list is not complete.

    `contents` of files by their paths, at most 1 MiB in all: the other files have to be read.
    """

    TYPE = "files.listed"
    entries: tuple[FileEntry, ...] = ()
    version: str
    has_more: bool = False
    contents: dict[str, bytes] = Field(default_factory=dict)


class ReadFile(MessageBody):
    """Request a part of a file, at most 1 MiB. Worker to `files`; answered by `files.part`."""

    TYPE = "files.read"
    path: str
    root: FileRoot = "home"
    offset: int = Field(default=0, ge=0)
    size: int = Field(default=PART_BYTES, ge=0, le=PART_BYTES)


class FilePart(MessageBody):
    """The bytes at `offset`, fewer at the file's end; `total` is the file's size now."""

    TYPE = "files.part"
    data: bytes
    total: int
    mtime_ns: int = 0


class WriteFile(Record):
    """Write `data` at `offset` as the end of a file; with offset 0 replace the whole file.

    Refused if the file is shorter. `is_synced`: it is on the disk when the answer arrives.
    """

    kind: Literal["write"] = "write"
    path: str
    data: bytes
    offset: int = Field(default=0, ge=0)
    mode: int = Field(default=0o644, ge=0, le=0o777)
    is_synced: bool = True


class MakeEntry(Record):
    """Make a folder, or a link to `target`."""

    kind: Literal["make"] = "make"
    path: str
    target: str = ""
    mode: int = Field(default=0o755, ge=0, le=0o777)


class RemoveFile(Record):
    """Remove a file, a link, or a folder with all its contents."""

    kind: Literal["remove"] = "remove"
    path: str


class MoveFile(Record):
    """Rename a file or folder to `target`, also a path.

    If only the target exists, the move was already done.
    """

    kind: Literal["move"] = "move"
    path: str
    target: str


FileChange = Annotated[WriteFile | MakeEntry | RemoveFile | MoveFile, Field(discriminator="kind")]


class ChangeFiles(MessageBody):
    """Make changes, one after the other, until one is refused. Worker to `files`.

    Answered by `files.changed`, or refused as a whole; it is safe to repeat it.
    """

    TYPE = "files.change"
    changes: tuple[FileChange, ...] = Field(max_length=MOST_CHANGES)


class FilesChanged(MessageBody):
    """How many changes were made, and why the next one was not: `kind` is the error's name."""

    TYPE = "files.changed"
    made: int
    reason: str = ""
    kind: str = ""


class OfferFile(MessageBody):
    """Announce a large file. Worker to `files`; answered by `files.wanted`.

    Its content is sent by `files.send`; the last part moves it to its path.
    """

    TYPE = "files.offer"
    file: FileOffer


class FileWanted(MessageBody):
    """The offset of the next byte needed; `size` if the file is there (by its content's hash)."""

    TYPE = "files.wanted"
    offset: int


class SendPart(MessageBody):
    """A part of an offered file. Worker to `files`; answered by `files.wanted`.

    A part that is not the next one changes nothing.
    """

    TYPE = "files.send"
    file: FileOffer
    offset: int = Field(ge=0)
    data: bytes
