"""Files: between an entity on another machine and the home, by the service `files`.

Paths are relative to the agent's home (`runs/R/workers/W/conversation.jsonl`). A sender reads what
its scope lets it read, and writes only its own folder and the folder of the node that it holds.
All are passing requests: whoever gets no answer asks again, and nothing changes twice by it.
"""

from pydantic import Field

from agiraph.core.file_records import FileEntry, FileOffer, FileRoot
from agiraph.messages.body import Body

DISK_FULL = "DiskFull"
"""The kind of a refusal for lack of room at home: whoever gets it asks again later."""

PART_BYTES = 1 << 20
"""The most that one message carries of a file."""


class ListFiles(Body):
    """Request all entries below these paths that the sender may read. Worker to `files`.

    A path that is not there has none. `known` is the `version` of an earlier answer: if nothing has
    changed, the answer is empty and has the same version. `after` is the last path of the part
    before. Answered by `files.listed`.
    """

    TYPE = "files.list"
    below: tuple[str, ...] = ()
    root: FileRoot = "home"
    known: str = ""
    after: str = ""


class FilesListed(Body):
    """The entries, in the order of their paths; `has_more`: these are not all."""

    TYPE = "files.listed"
    entries: tuple[FileEntry, ...] = ()
    version: str
    has_more: bool = False


class ReadFile(Body):
    """Request a part of a file, at most 1 MiB. Worker to `files`; answered by `files.part`."""

    TYPE = "files.read"
    path: str
    root: FileRoot = "home"
    offset: int = Field(default=0, ge=0)
    size: int = Field(default=PART_BYTES, ge=0, le=PART_BYTES)


class FilePart(Body):
    """The bytes at `offset`, fewer at the file's end; `total` is the file's size now."""

    TYPE = "files.part"
    data: bytes
    total: int
    mtime_ns: int = 0


class WriteFile(Body):
    """Make a file end with `data` at `offset`; with offset 0 it is replaced as a whole.

    Worker to `files`, in order; answered by `control.ok`. Refused if the file is shorter.
    """

    TYPE = "files.write"
    path: str
    data: bytes
    offset: int = Field(default=0, ge=0)
    mode: int = Field(default=0o644, ge=0, le=0o777)


class OfferFile(Body):
    """Announce a large file. Worker to `files`; answered by `files.wanted`.

    Its content is sent by `files.send`; the last part puts it at its path.
    """

    TYPE = "files.offer"
    file: FileOffer


class FileWanted(Body):
    """Which byte is needed next; `size` itself if the file is there (by its content's hash)."""

    TYPE = "files.wanted"
    offset: int


class SendPart(Body):
    """A part of an offered file. Worker to `files`; answered by `files.wanted`.

    A part that is not the next one changes nothing.
    """

    TYPE = "files.send"
    file: FileOffer
    offset: int = Field(ge=0)
    data: bytes


class RemoveFile(Body):
    """Remove a file, a link, or a folder with all that is in it. Answered by `control.ok`."""

    TYPE = "files.remove"
    path: str


class MoveFile(Body):
    """Rename a file or folder to `target`, a path too. Answered by `control.ok`.

    If only the target is there, it has been done before.
    """

    TYPE = "files.move"
    path: str
    target: str


class MakeEntry(Body):
    """Make a folder, or a link to `target`. Worker to `files`; answered by `control.ok`."""

    TYPE = "files.make"
    path: str
    target: str = ""
    mode: int = Field(default=0o755, ge=0, le=0o777)
