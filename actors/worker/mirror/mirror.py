"""Mirror: the files of a worker's home, as the worker reads and writes them on another machine.

The worker finds everything under the same names as at home: its own folder, its node, the files
that other workers have published, the input folder. They are fetched before they are needed and
again when they have changed. The worker's own changes are sent before any message leaves the
process (`send_changes` is the gate of its endpoint), so the home's copy is never behind the
knowledge of other processes.

A process that follows another on the same machine finds its files unchanged. On any other machine
it begins with the home's copy. scratch/ is sent as it is written, except large files and large
trees, which are sent when the process ends in order: a crash loses only these.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from actors.entity.args import WorkerArgs
from actors.runtime.runtime import Runtime
from actors.worker.mirror.changes import Changes, Stamp, changes
from actors.worker.mirror.content_cache import ContentCache
from actors.worker.mirror.file_client import FileClient, FoundFiles
from actors.worker.mirror.tracked import TrackedFiles
from agiraph.core.errors import OutOfScope, Refused
from agiraph.core.ids import AgentId
from agiraph.core.models import Assignment, EntityState
from agiraph.core.turns import ToolCall
from agiraph.memory.skills import GUIDE, IN_INPUT
from agiraph.messages.files import (
    PART_BYTES,
    FileChange,
    MakeEntry,
    MoveFile,
    RemoveFile,
    WriteFile,
)
from agiraph.storage.copies import digest_of, make_link, read_link
from agiraph.storage.file_records import SHARED, FileEntry, FileRoot
from agiraph.storage.files import (
    FolderEntry,
    entries,
    files_below,
    is_folder,
    make_folder,
    read_bytes,
    read_part,
    remove_file,
    remove_tree,
    replace_bytes,
    replace_file,
    set_mode,
    status_of,
)
from agiraph.storage.home import AgentHome, Home, NodeHome, plan_copy
from agiraph.storage.host_folder import HostFolder

READING = frozenset(
    ["bash", "read_file", "read_ref", "list_files", "search", "find_files", "read_skill", "publish"]
)
"""Tools that read the files of other workers."""
FOR_ALL = ("_messages", "_attachments")
"""Folders that are fetched only for a call that names them: they can be large."""
FETCHED_AT_ONCE = 16
UNSENT = Stamp("other", 0, 0, 0, 0)


class _Part(NamedTuple):
    """Files that are kept equal to the home's: `below` a root there, below `base` here."""

    below: tuple[str, ...]
    root: FileRoot
    base: Path


@dataclass(frozen=True, slots=True)
class MirrorHome(Home):
    """A home in which each worker has its own copy of its agent's home: nothing is shared."""

    worker: str = ""

    def agent(self, agent: AgentId | str) -> AgentHome:
        """Return this worker's copy of the home of its agent."""
        return AgentHome(self.agents / f"{agent}.{self.worker}")


class Mirror:
    """One worker's copy, on another machine, of its files of the home; changes are sent back.

    `input_dir` is the worker's copy of the input folder, None without an input folder.
    """

    def __init__(self, runtime: Runtime, args: WorkerArgs) -> None:
        host_folder = HostFolder(runtime.home.path.parent)
        self.home = MirrorHome(runtime.home.path, args.worker.id)
        self._runtime = runtime
        self._agent = self.home.agent(args.agent)
        self._run = self._agent.run(args.run)
        self._own = self._run.worker(args.worker.id)
        self.input_dir = host_folder.inputs / self._agent.path.name if args.spec.input else None
        self._client = FileClient(runtime)
        self._cache = ContentCache(host_folder.contents, self._client)
        self._tracked = TrackedFiles(self._agent.path, self._own)
        self._sent: dict[str, Stamp] = {}
        self._digests: dict[Path, str] = {}
        self._versions: dict[_Part, str] = {}
        self._turn = asyncio.Lock()
        self._follows = False

    # --- fetching --------------------------------------------------------------------------------

    async def open(self) -> None:
        """Fetch the files that the worker needs at its start: its own folder, prompts, skills."""
        note, number = self._agent.path / ".incarnation", self._runtime.launch.incarnation
        self._follows = _noted(note) == number - 1
        if not self._follows:
            remove_tree(self._agent.path)
        replace_file(note, json.dumps(number))
        self._runtime.status(EntityState(state="busy", step="fetching its files"))
        make_folder(self._own.path)
        parts = [_Part(SHARED, "shared", self.home.path), *self._of_input(GUIDE, *IN_INPUT)]
        own, others = await self._list(self._own.path, parts, keeps=self._follows)
        await self._take(own, keeps=self._follows)
        for part, found in zip(parts, others, strict=True):
            await self._keep(part, found)

    async def enter(self, assignment: Assignment, *, is_resumed: bool) -> None:
        """Fetch the node's folder, the files that others have published, and the input folder.

        `is_resumed`: the previous process worked on the node too.
        """
        node = self._run.node(assignment.node.folder)
        parts = [self._of_run(), *self._of_input("")]
        async with self._turn:
            of_node = self._tracked.of_node
            self._sent = {path: one for path, one in self._sent.items() if not of_node(path)}
            self._tracked.node = None
            keeps = is_resumed and self._follows
            if not keeps:
                remove_tree(node.path)
            make_folder(node.path)
            own, others = await self._list(node.path, parts, keeps=keeps)
            self._tracked.node = node
            await self._take(own, keeps=keeps)
            self._make_scratch(node)
        for part, found in zip(parts, others, strict=True):
            await self._keep(part, found)

    async def before_call(self, call: ToolCall) -> None:
        """Send changes, so that the home has them before the call's effects.

        For a tool that reads, fetch the files of other workers afterwards.
        """
        await self.send_changes()
        if call.name in READING:
            await self.refresh()
            said = json.dumps(call.arguments)
            for folder in FOR_ALL:
                if folder in said:
                    place = self._run.path / folder
                    await self._sync(_Part((self._named(place),), "home", self._agent.path))

    async def refresh(self) -> None:
        """Fetch the changes of the run's files and of the files that others have published."""
        await self._sync(self._of_run())

    async def renew_spec(self, folder: str) -> None:
        """Fetch the specification and the refs of a node again: they have changed."""
        node = self._run.node(folder)
        paths = [self._named(node.spec), self._named(node.refs)]
        found = await self._client.list(paths, has_contents=True)
        if found is not None:
            await self._fetch_all(found.entries, found.contents, "home", self._agent.path)

    def _of_run(self) -> _Part:
        places = (self._run.path, self._run.nodes, self._run.shared, plan_copy(self._run.path))
        return _Part(tuple(map(self._named, places)), "home", self._agent.path)

    def _of_input(self, *below: str) -> list[_Part]:
        return [_Part(below, "input", self.input_dir)] if self.input_dir is not None else []

    async def _list(
        self, own: Path, parts: Sequence[_Part], *, keeps: bool
    ) -> tuple[FoundFiles, list[FoundFiles | None]]:
        """Return the lists of the worker's own folder and of each of `parts`.

        With `keeps` the folder's contents are not requested: they are here already.
        """
        first, *others = await asyncio.gather(
            self._client.list([self._named(own)], has_contents=not keeps),
            *map(self._look, parts),
        )
        assert first is not None  # it has no known version
        return first, others

    async def _look(self, part: _Part) -> FoundFiles | None:
        known = self._versions.get(part, "")
        return await self._client.list(part.below, part.root, known, has_contents=not known)

    async def _sync(self, part: _Part) -> None:
        """Make a part equal to the home's files, if these have changed since the last time."""
        await self._keep(part, await self._look(part))

    async def _keep(self, part: _Part, found: FoundFiles | None) -> None:
        """Make a part equal to the files found at home; None: they have not changed."""
        if found is None:
            return
        wanted = {part.base / one.path for one in found.entries}
        for place in self._extra(part.below, part.base, wanted):
            remove_file(place)
        await self._fetch_all(found.entries, found.contents, part.root, part.base)
        self._versions[part] = found.version

    def _extra(self, below: Iterable[str], base: Path, wanted: set[Path]) -> list[Path]:
        """Return the files below `base` that exist here, but are not in `wanted`."""
        tops: list[Path] = []
        for top in (base / path for path in below):
            if top == self._run.nodes:
                published = [self._run.node(one.name).published for one in entries(top)]
                tops += [p for p in published if not self._tracked.of_node(self._named(p))]
            elif top != self._run.path:
                tops.append(top)
        found = [top / path for top in tops if is_folder(top) for path, _ in files_below(top)]
        return [one for one in found if one not in wanted]

    async def _fetch_all(
        self,
        listed: Sequence[FileEntry],
        contents: Mapping[str, bytes],
        root: FileRoot,
        base: Path,
    ) -> None:
        for entry in listed:
            if entry.kind == "folder":
                make_folder(base / entry.path)
            elif entry.kind == "link":
                make_link(base / entry.path, entry.target)
        files = [one for one in listed if one.kind == "file" and one.digest]
        missing = [one for one in files if not await self._is_here(base / one.path, one)]
        for entry in (one for one in missing if one.size > PART_BYTES):
            await self._put(entry, root, base)
        small = [one for one in missing if one.size <= PART_BYTES]
        for first in range(0, len(small), FETCHED_AT_ONCE):
            group = small[first : first + FETCHED_AT_ONCE]
            await asyncio.gather(
                *(self._put(one, root, base, contents.get(one.path)) for one in group)
            )

    async def _is_here(self, place: Path, entry: FileEntry) -> bool:
        status = status_of(place)
        if status is None or status.st_size != entry.size:
            return False
        if self._digests.get(place) != entry.digest:
            self._digests[place] = await asyncio.to_thread(digest_of, place)
        return self._digests[place] == entry.digest

    async def _put(
        self,
        entry: FileEntry,
        root: FileRoot,
        base: Path,
        content: bytes | None = None,
        *,
        is_own: bool = False,
    ) -> None:
        """Create a file here; the content of a small file is read unless it is given."""
        place = base / entry.path
        if entry.size > PART_BYTES:
            await self._cache.put(entry, root, place, self._tell, is_own=is_own)
        else:
            if content is None:
                content = await self._client.read(entry.path, root, entry.size)
            # Files of others are compared with the home's before the next process uses them.
            replace_bytes(place, content, is_synced=is_own)
            set_mode(place, entry.mode)
        self._digests[place] = entry.digest

    def _tell(self, path: str, have: int, size: int) -> None:
        step = f"fetching {path}: {have * 100 // size} %"
        self._runtime.status(EntityState(state="busy", step=step))

    # --- the worker's own files ------------------------------------------------------------------

    async def _take(self, found: FoundFiles, *, keeps: bool) -> None:
        """Create the worker's own files; with `keeps`, local files win over the home's.

        A journal that is shorter here than at home has lost its end here.
        """
        base = self._agent.path
        others = [one for one in found.entries if not self._is_own(one)]
        await self._fetch_all(others, found.contents, "home", base)
        for entry in filter(self._is_own, found.entries):
            place = base / entry.path
            status = status_of(place)
            is_short = status is None or status.st_size < entry.size
            is_lost = not keeps or (place == self._own.conversation and is_short)
            if entry.kind == "folder":
                make_folder(place, entry.mode)
            elif entry.kind == "link":
                make_link(place, entry.target)
            elif is_lost:
                content = found.contents.get(entry.path)
                await self._put(entry, "home", base, content, is_own=True)
            is_same = entry.kind != "file" or await self._is_here(place, entry)
            self._sent[entry.path] = self._stamp(place) if is_same else UNSENT

    def _make_scratch(self, node: NodeHome) -> None:
        """Create the folder scratch/ here; the home gets it with the first file in it."""
        make_folder(node.scratch)
        path = self._named(node.scratch)
        self._sent.setdefault(path, self._stamp(node.scratch))

    def _is_own(self, entry: FileEntry) -> bool:
        return self._tracked.is_ours(entry.path)

    def _stamp(self, place: Path) -> Stamp:
        status = status_of(place)
        return UNSENT if status is None else Stamp.of(FolderEntry.of(place.name, status))

    async def send_changes(self, *, is_last: bool = False) -> None:
        """Send all changes to the home. Raises Refused, OSError."""
        async with self._turn:
            now = self._tracked.now(self._sent, is_last=is_last)
            if now != self._sent:
                await self._send(changes(self._sent, now), now)

    async def _send(self, todo: Changes, now: dict[str, Stamp]) -> None:
        """Make changes at home, in as few requests as possible.

        Moves are made one by one: a repeated move would also move a file that was written after it.
        """
        for source, target in todo.moves:
            _, refused = await self._client.change(MoveFile(path=source, target=target))
            if refused is not None:
                raise refused
            for one in self._sent_of(source):
                self._sent[target + one[len(source) :]] = self._sent.pop(one)
        begins = {**todo.written, **todo.journals}
        for group in todo.groups(now):
            stamp, begin = now.get(group[0]), begins.get(group[0], 0)
            if stamp is not None and stamp.new_bytes(begin) > PART_BYTES:
                await self._write_large(group[0], stamp, begin)
                continue
            found: dict[str, FileChange] = {}
            for path in group:
                with suppress(FileNotFoundError):  # removed meanwhile: the next round sends that
                    found[path] = self._change(path, now.get(path), begins.get(path, 0))
            await self._make(found, now)
        self._sent |= {path: now[path] for path in now if now[path].kind == "folder"}

    def _change(self, path: str, stamp: Stamp | None, begin: int) -> FileChange:
        """Return the change that copies a small entry to the home, or removes it. Raises OSError.

        `stamp` None: the entry is gone here. `begin` is the first byte of a file to copy.
        """
        place = self._agent.path / path
        if stamp is None:
            return RemoveFile(path=path)
        mode = stamp.mode & 0o777
        match stamp.kind:
            case "folder":
                return MakeEntry(path=path, mode=mode)
            case "link":
                return MakeEntry(path=path, target=read_link(place))
            case _:
                data, _ = read_part(place, begin, stamp.size - begin)
                is_synced = not self._tracked.is_unsynced(path, is_new=path not in self._sent)
                return WriteFile(path=path, data=data, offset=begin, mode=mode, is_synced=is_synced)

    async def _make(self, found: Mapping[str, FileChange], now: Mapping[str, Stamp]) -> None:
        """Make changes at home; skip changes whose refusal `_check_refusal` tolerates."""
        paths = list(found)
        while paths:
            made, refused = await self._client.change(*map(found.__getitem__, paths))
            if refused is not None:
                self._check_refusal(paths[made], refused)
            for path in paths[: made + 1]:
                self._made(path, now.get(path))
            paths = paths[made + 1 :]

    async def _write_large(self, path: str, stamp: Stamp, begin: int) -> None:
        place, mode = self._agent.path / path, stamp.mode & 0o777
        try:
            await self._client.write(place, path, begin, stamp.size, mode)
        except Refused as error:
            self._check_refusal(path, error)
        except FileNotFoundError:
            return
        self._made(path, stamp)

    def _made(self, path: str, stamp: Stamp | None) -> None:
        """Record that the home has the state `stamp` of a path; None: the path is removed."""
        if stamp is not None:
            self._sent[path] = stamp
            return
        for one in self._sent_of(path):
            del self._sent[one]

    def _sent_of(self, path: str) -> list[str]:
        """Return the sent paths of an entry: its own path, of a folder also all paths below it."""
        if path in self._sent and self._sent[path].kind != "folder":
            return [path]  # there may be thousands: no search for each
        return [one for one in self._sent if one == path or one.startswith(f"{path}/")]

    def _check_refusal(self, path: str, error: Refused) -> None:
        """Raise a refusal; only log it if the worker has lost the node, or for a scratch file."""
        if isinstance(error, OutOfScope) and self._tracked.of_node(path):
            self._runtime.log.warning("its node's files are not taken any more", reason=str(error))
        elif not isinstance(error, OutOfScope) and self._tracked.in_scratch(path):
            self._runtime.log.warning("not sent", path=path, reason=str(error))
        else:
            raise error

    def _named(self, place: Path) -> str:
        return place.relative_to(self._agent.path).as_posix()


def _noted(path: Path) -> int:
    """Return the incarnation that wrote here last; -1 if unknown."""
    try:
        return int(read_bytes(path))
    except (OSError, ValueError):
        return -1
