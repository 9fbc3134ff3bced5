"""FileClient: a worker's requests to the service `files`, repeated until they are answered.

A repeated request has the same id and the same effect. While the home's disk is full a write waits
there, as every write of a worker waits for room on its own disk.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import BaseModel

from actors.runtime.ask_again import LONGEST_PAUSE_SECONDS, checked
from actors.runtime.runtime import Runtime
from agiraph.core.errors import OutOfScope, Refused
from agiraph.core.ids import FILES, message_id
from agiraph.messages.body import MessageBody
from agiraph.messages.control import RefusedReply
from agiraph.messages.files import (
    DISK_FULL,
    PART_BYTES,
    ChangeFiles,
    FileChange,
    FilePart,
    FilesChanged,
    FilesListed,
    FileWanted,
    ListFiles,
    OfferFile,
    ReadFile,
    SendPart,
    WriteFile,
)
from agiraph.storage.copies import digest_of, write_at
from agiraph.storage.file_records import FileEntry, FileOffer, FileRoot
from agiraph.storage.files import read_part
from transport.errors import DeadlineExceeded, PeerLost

AT_ONCE = 8
"""The most parts of a large file that are in transit together."""
ANSWER_SECONDS = 60.0

Reply = TypeVar("Reply", bound=BaseModel)
Progress = Callable[[str, int, int], None]
"""Called for each large file with its path, the number of bytes received, and its size."""


class FoundFiles(NamedTuple):
    """The files below some paths at home; the contents of small files, if requested, by path."""

    entries: Sequence[FileEntry]
    version: str
    contents: Mapping[str, bytes]


class FileClient:
    """Reads and changes files of the home for a worker on another machine, by service `files`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def ask(self, body: MessageBody, expect: type[Reply]) -> Reply:
        """Send a request and return the reply. Raises Refused, OutOfScope if it is refused."""
        with self._runtime.heartbeat.waiting_for(FILES):
            return await self._ask(body, expect)

    async def _ask(self, body: MessageBody, expect: type[Reply]) -> Reply:
        id, is_waiting = message_id(), False
        try:
            while True:
                try:
                    received = await self._runtime.ask(
                        FILES, body, id=id, within_seconds=ANSWER_SECONDS
                    )
                except (PeerLost, DeadlineExceeded):
                    await asyncio.sleep(LONGEST_PAUSE_SECONDS / AT_ONCE)
                    continue
                self._runtime.done(received)
                if not isinstance(received.body, RefusedReply):
                    return checked(received, expect)
                if received.body.kind != DISK_FULL:
                    raise _refused(received.body)
                if not is_waiting:
                    is_waiting = True
                    self._runtime.waits_for_room(True)
                id = message_id()
                await asyncio.sleep(LONGEST_PAUSE_SECONDS)
        finally:
            if is_waiting:
                self._runtime.waits_for_room(False)

    async def change(self, *changes: FileChange) -> tuple[int, Refused | None]:
        """Request changes, in order; return the number made, and why the next was refused."""
        answer = await self.ask(ChangeFiles(changes=changes), FilesChanged)
        return answer.made, None if answer.made == len(changes) else _refused(answer)

    async def list(
        self,
        below: Sequence[str],
        root: FileRoot = "home",
        known: str = "",
        *,
        has_contents: bool = False,
    ) -> FoundFiles | None:
        """Return the files below these paths; None if their version is `known`."""
        found: list[FileEntry] = []
        contents: dict[str, bytes] = {}
        while True:
            body = ListFiles(
                below=tuple(below),
                root=root,
                known=known,
                after=found[-1].path if found else "",
                has_contents=has_contents,
            )
            listed = await self.ask(body, FilesListed)
            if known and listed.version == known:
                return None
            found += listed.entries
            contents |= listed.contents
            if not listed.has_more:
                return FoundFiles(found, listed.version, contents)

    async def read(self, path: str, root: FileRoot, size: int) -> bytes:
        """Return the content of a file of at most PART_BYTES bytes."""
        body = ReadFile(path=path, root=root, size=min(size, PART_BYTES))
        return (await self.ask(body, FilePart)).data

    async def fetch(
        self, entry: FileEntry, root: FileRoot, part: Path, have: int, tell: Progress
    ) -> None:
        """Fetch a large file into the file `part`, which already has its first `have` bytes."""
        while have < entry.size:
            tell(entry.path, have, entry.size)
            offsets = range(have, entry.size, PART_BYTES)[:AT_ONCE]
            asked = (ReadFile(path=entry.path, root=root, offset=offset) for offset in offsets)
            for got in await asyncio.gather(*(self.ask(one, FilePart) for one in asked)):
                if not got.data or got.total != entry.size:
                    raise Refused(f"'{entry.path}' was changed while it was fetched")
                await asyncio.to_thread(write_at, part, got.data, have, 0o600, is_synced=False)
                have += len(got.data)

    async def write(self, place: Path, path: str, begin: int, end: int, mode: int) -> None:
        """Copy the bytes `begin` to `end` of a large file to the home. Raises Refused, OSError."""
        if begin == 0:
            await self._offer(place, path, end, mode)
            return
        at = begin
        while at < end and (data := read_part(place, at, min(PART_BYTES, end - at))[0]):
            one = WriteFile(path=path, data=data, offset=at, mode=mode)
            _, refused = await self.change(one)
            if refused is not None:
                raise refused
            at += len(data)

    async def _offer(self, place: Path, path: str, size: int, mode: int) -> None:
        digest = await asyncio.to_thread(digest_of, place, size)
        file = FileOffer(path=path, size=size, digest=digest, mode=mode)
        have = (await self.ask(OfferFile(file=file), FileWanted)).offset
        while have < size:
            parts = []
            for offset in range(have, size, PART_BYTES)[:AT_ONCE]:
                data, _ = await asyncio.to_thread(
                    read_part, place, offset, min(PART_BYTES, size - offset)
                )
                parts.append(SendPart(file=file, offset=offset, data=data))
            answers = await asyncio.gather(*(self.ask(one, FileWanted) for one in parts))
            have = max(answer.offset for answer in answers)


def _refused(answer: RefusedReply | FilesChanged) -> Refused:
    is_scope = answer.kind == OutOfScope.__name__
    return (OutOfScope if is_scope else Refused)(answer.reason)
