"""FileRequests: answers the requests of workers on other machines to read and write files."""

import os
from collections.abc import Sequence
from typing import assert_never

from actors.files.access import WorkerAccess, access_of
from actors.files.listing import Digests, list_files
from agiraph.board.members import BoardCache
from agiraph.core.errors import AgiraphError, InvalidInput
from agiraph.messages.body import MessageBody
from agiraph.messages.control import RefusedReply
from agiraph.messages.files import (
    DISK_FULL,
    ChangeFiles,
    FileChange,
    FilePart,
    FilesChanged,
    FileWanted,
    ListFiles,
    MakeEntry,
    MoveFile,
    OfferFile,
    ReadFile,
    RemoveFile,
    SendPart,
    WriteFile,
)
from agiraph.storage.copies import make_link, write_at
from agiraph.storage.disk_space import is_full_disk
from agiraph.storage.files import (
    make_folder,
    move,
    open_file,
    read_descriptor,
    remove_tree,
    replace_bytes,
    status_of,
)
from agiraph.storage.home import Home
from agiraph.storage.transfers import Transfers
from agiraph.storage.walk import closing, kind_of

LONGEST_REASON = 1000


class FileRequests:
    """Answers the requests for the files of one home; `transfers` are unfinished large files."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._boards, self._digests = BoardCache(), Digests()
        self.transfers = Transfers(home.system.transfers)

    def answer(self, sender: str, body: MessageBody) -> MessageBody:
        """Execute a request and return the reply; any error becomes a RefusedReply."""
        try:
            return self._act(sender, body)
        except (AgiraphError, OSError, ValueError) as error:
            if is_full_disk(error):
                reason = f"the disk of the home is full: {_reason(error)}"
                return RefusedReply(reason=reason, kind=DISK_FULL)
            return RefusedReply(reason=_reason(error), kind=type(error).__name__)

    def _act(self, sender: str, body: MessageBody) -> MessageBody:
        access = access_of(sender, self._home, self._boards)
        match body:
            case ListFiles():
                return list_files(access, body, self._digests)
            case ReadFile():
                return read(access, body)
            case OfferFile(file=file):
                place = access.to_write(file.path, "file")
                return FileWanted(offset=self.transfers.wanted(sender, file, place))
            case SendPart(file=file, offset=offset, data=data):
                place = access.to_write(file.path, "file")
                return FileWanted(offset=self.transfers.take(sender, file, place, offset, data))
            case ChangeFiles(changes=changes):
                return change_all(access, changes)
        raise InvalidInput(f"{body.TYPE} is nothing for the files of a home")


def read(access: WorkerAccess, body: ReadFile) -> FilePart:
    """Return a part of a file. Raises OutOfScope, OSError."""
    place = access.to_read(body.path, body.root)
    with closing(open_file(place, anyones=body.root != "home")) as fd:
        status = os.fstat(fd)
        data = read_descriptor(fd, body.offset, body.size)
    return FilePart(data=data, total=status.st_size, mtime_ns=status.st_mtime_ns)


def change_all(access: WorkerAccess, changes: Sequence[FileChange]) -> FilesChanged:
    """Make changes until one is refused; return their number, and why the next was refused.

    Raises OSError if the disk is full.
    """
    for made, one in enumerate(changes):
        try:
            change(access, one)
        except (AgiraphError, OSError, ValueError) as error:
            if is_full_disk(error):
                raise
            return FilesChanged(made=made, reason=_reason(error), kind=type(error).__name__)
    return FilesChanged(made=len(changes))


def change(access: WorkerAccess, one: FileChange) -> None:
    """Write, create, move or remove an entry for a worker.

    Raises OutOfScope, InvalidInput, OSError.
    """
    match one:
        case WriteFile(path=path, data=data, offset=0, mode=mode):
            replace_bytes(access.to_write(path, "file"), data, mode, is_synced=one.is_synced)
        case WriteFile(path=path, data=data, offset=offset):
            size = write_at(access.to_write(path, "file"), data, offset, is_synced=one.is_synced)
            if size < offset:
                raise InvalidInput(f"'{path}' has {size} bytes: nothing can be put at {offset}")
        case RemoveFile(path=path):
            remove_tree(access.to_write(path))
        case MoveFile(path=path, target=target):
            source = access.to_write(path)
            status = status_of(source)
            place = access.to_write(target, kind_of(status) if status else None)
            if status is not None or status_of(place) is None:
                move(source, place)
        case MakeEntry(path=path, target=target) if target:
            make_link(access.to_write(path, "link"), target)
        case MakeEntry(path=path, mode=mode):
            make_folder(access.to_write(path, "folder"), mode)
        case _:
            assert_never(one)


def _reason(error: Exception) -> str:
    """Return an error's text, limited: the text may quote a path of any length."""
    return str(error)[:LONGEST_REASON]
