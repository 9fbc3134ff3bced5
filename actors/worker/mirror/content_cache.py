"""ContentCache: large contents that were fetched, by their digests, for all workers of a host.

A content gets the names of the files that have it (hard links), or is copied for a writable file.
It is hashed before each use: a command may have written to one of its names.
"""

import asyncio
import os
from pathlib import Path

from actors.worker.mirror.file_client import FileClient, Progress
from agiraph.core.errors import Refused
from agiraph.storage.copies import copy_file, digest_of, link_file
from agiraph.storage.file_records import FileEntry, FileRoot
from agiraph.storage.files import can_lock, move, opened, remove_file, set_mode, status_of

LOOK_SECONDS = 0.2
READ_ONLY = 0o444


class ContentCache:
    """The contents in `folder`, and the contents that are being fetched."""

    def __init__(self, folder: Path, client: FileClient) -> None:
        self._folder = folder
        self._client = client

    async def put(
        self, entry: FileEntry, root: FileRoot, place: Path, tell: Progress, *, is_own: bool
    ) -> None:
        """Create a file at `place`; with `is_own` as a copy that shares no other name.

        Raises Refused, OSError.
        """
        mode = READ_ONLY | entry.mode & 0o111
        content = self._folder / f"{entry.digest}.{mode:o}"
        if not await self._has(content, entry.digest):
            await self._fetch(entry, root, content, tell)
            set_mode(content, mode)
        if not is_own:
            link_file(content, place)
        else:
            await asyncio.to_thread(copy_file, content, place, entry.mode)

    async def _has(self, content: Path, digest: str) -> bool:
        if status_of(content) is None:
            return False
        if await asyncio.to_thread(digest_of, content) == digest:
            return True
        remove_file(content)
        return False

    async def _fetch(self, entry: FileEntry, root: FileRoot, content: Path, tell: Progress) -> None:
        """Fetch a content, or continue an interrupted fetch; only one process does it at a time."""
        part = content.with_name(f"{content.name}.part")
        with opened(part, os.O_RDWR | os.O_CREAT) as fd:
            while not can_lock(fd):  # noqa: ASYNC110 - another process holds it
                await asyncio.sleep(LOOK_SECONDS)
            if await self._has(content, entry.digest):
                return
            have = os.fstat(fd).st_size
            await self._client.fetch(entry, root, part, min(have, entry.size), tell)
            if await asyncio.to_thread(digest_of, part) != entry.digest:
                remove_file(part)
                raise Refused(f"'{entry.path}' was changed while it was fetched")
            move(part, content)
