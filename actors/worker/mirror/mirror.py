"""Mirror: the files of a worker's home, as the worker sees and writes them on another machine.

The worker finds everything under the names that it has at home: its own folder, its node, what
others have published, the input folder. They are fetched before they are needed and again when they
have changed. What it writes itself is sent before anything else leaves the process (`send_changes`
is the gate of its endpoint), so the home's copy is never behind what others know of it.

A process that follows another on the same machine finds its files as that one left them. On any
other machine it begins with the home's copy. scratch/ is sent as it is written, but for large files
and large trees, which are sent when the process ends in order: such a loss is what a crash costs.
"""

import asyncio
import json
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from actors.entity.args import WorkerArgs
from actors.runtime.runtime import Runtime
from actors.worker.mirror.changes import Changes, Stamp, changes
from actors.worker.mirror.content_cache import ContentCache
from actors.worker.mirror.file_client import FileClient
from actors.worker.mirror.tracked import TrackedFiles
from agiraph.core.errors import OutOfScope, Refused
from agiraph.core.file_records import SHARED, FileEntry, FileRoot
from agiraph.core.ids import AgentId
from agiraph.core.models import Assignment
from agiraph.core.turns import ToolCall
from agiraph.memory.skills import GUIDE, IN_INPUT
from agiraph.messages.files import PART_BYTES, MakeEntry, MoveFile, RemoveFile
from agiraph.storage.copies import digest_of, make_link, read_link
from agiraph.storage.files import (
    FolderEntry,
    entries,
    files_below,
    is_folder,
    make_folder,
    read_bytes,
    remove_file,
    remove_tree,
    replace_bytes,
    replace_file,
    set_mode,
    status_of,
)
from agiraph.storage.home import AgentHome, Home, plan_copy

READING = frozenset({"bash", "read_file", "read_ref", "list_files", "read_skill", "publish"})
"""Tools that see what others have written."""
FOR_ALL = ("_messages", "_attachments")
"""Folders that are fetched only for a call that names them: they can be large."""
FETCHED_AT_ONCE = 16
UNSENT = Stamp("other", 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class MirrorHome(Home):
    """A home in which each worker has its own copy of its agent's home: nothing is shared."""

    worker: str = ""

    def agent(self, agent: AgentId | str) -> AgentHome:
        """Return this worker's copy of the home of its agent."""
        return AgentHome(self.agents / f"{agent}.{self.worker}")


class Mirror:
    """One worker's files on this machine. `input_dir` is its copy of the input folder."""

    def __init__(self, runtime: Runtime, args: WorkerArgs) -> None:
        host_folder = runtime.home.path.parent
        self.home = MirrorHome(runtime.home.path, args.worker.id)
        self._runtime = runtime
        self._agent = self.home.agent(args.agent)
        self._run = self._agent.run(args.run)
        self._own = self._run.worker(args.worker.id)
        cache = host_folder / "cache"
        self.input_dir = cache / "inputs" / self._agent.path.name if args.input_dir else None
        self._client = FileClient(runtime)
        self._cache = ContentCache(cache / "contents", self._client)
        self._tracked = TrackedFiles(self._agent.path, self._own)
        self._sent: dict[str, Stamp] = {}
        self._digests: dict[Path, str] = {}
        self._versions: dict[tuple[str, ...], str] = {}
        self._turn = asyncio.Lock()
        self._follows = False

    # --- fetching --------------------------------------------------------------------------------

    async def open(self) -> None:
        """Have what the worker needs before it can begin: its own folder, prompts and skills."""
        note, number = self._agent.path / ".incarnation", self._runtime.launch.incarnation
        self._follows = _noted(note) == number - 1
        if not self._follows:
            remove_tree(self._agent.path)
        replace_file(note, json.dumps(number))
        self._runtime.status("busy", "fetching its files")
        make_folder(self._own.path)
        await self._take(await self._list([self._named(self._own.path)]), keeps=self._follows)
        await self._sync(SHARED, "shared", self.home.path)
        if self.input_dir is not None:
            await self._sync((GUIDE, *IN_INPUT), "input", self.input_dir)

    async def enter(self, assignment: Assignment, *, is_resumed: bool) -> None:
        """Have the node's folder, what others have published, and the input folder.

        `is_resumed`: the process before this one held the node too.
        """
        node = self._run.node(assignment.node.folder)
        async with self._turn:
            of_node = self._tracked.of_node
            self._sent = {path: one for path, one in self._sent.items() if not of_node(path)}
            self._tracked.node = None
            keeps = is_resumed and self._follows
            if not keeps:
                remove_tree(node.path)
            make_folder(node.path)
            listed = await self._list([self._named(node.path)])
            self._tracked.node = node
            await self._take(listed, keeps=keeps)
        await self.refresh()
        if self.input_dir is not None:
            await self._sync(("",), "input", self.input_dir)

    async def before_call(self, call: ToolCall) -> None:
        """Let a tool find what others have written; that it has begun is known at home."""
        await self.send_changes()
        if call.name in READING:
            await self.refresh()
            said = json.dumps(call.arguments)
            for folder in FOR_ALL:
                if folder in said:
                    place = self._run.path / folder
                    await self._sync((self._named(place),), "home", self._agent.path)

    async def refresh(self) -> None:
        """Fetch what has changed of the run's files and of what others have published."""
        places = (self._run.path, self._run.nodes, plan_copy(self._run.path))
        await self._sync(tuple(map(self._named, places)), "home", self._agent.path)

    async def _list(self, below: Sequence[str]) -> list[FileEntry]:
        listed = await self._client.list(below)
        return listed[0] if listed else []

    async def _sync(self, below: tuple[str, ...], root: FileRoot, base: Path) -> None:
        """Make what is below some paths the same as at home, if it has changed since."""
        known = self._versions.get((root, *below), "")
        listed = await self._client.list(below, root, known)
        if listed is None:
            return
        found, version = listed
        for place in self._extra(below, base, {base / one.path for one in found}):
            remove_file(place)
        await self._fetch_all(found, root, base)
        self._versions[(root, *below)] = version

    def _extra(self, below: Iterable[str], base: Path, wanted: set[Path]) -> list[Path]:
        """Return the files here that are not there, or not any more."""
        tops: list[Path] = []
        for top in (base / path for path in below):
            if top == self._run.nodes:
                published = [self._run.node(one.name).published for one in entries(top)]
                tops += [p for p in published if not self._tracked.of_node(self._named(p))]
            elif top != self._run.path:
                tops.append(top)
        found = [top / path for top in tops if is_folder(top) for path, _ in files_below(top)]
        return [one for one in found if one not in wanted]

    async def _fetch_all(self, listed: Sequence[FileEntry], root: FileRoot, base: Path) -> None:
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
            await asyncio.gather(*(self._put(one, root, base) for one in group))

    async def _is_here(self, place: Path, entry: FileEntry) -> bool:
        status = status_of(place)
        if status is None or status.st_size != entry.size:
            return False
        if self._digests.get(place) != entry.digest:
            self._digests[place] = await asyncio.to_thread(digest_of, place)
        return self._digests[place] == entry.digest

    async def _put(
        self, entry: FileEntry, root: FileRoot, base: Path, *, is_own: bool = False
    ) -> None:
        place = base / entry.path
        if entry.size > PART_BYTES:
            await self._cache.put(entry, root, place, self._tell, is_own=is_own)
        else:
            replace_bytes(place, await self._client.read(entry.path, root, entry.size))
            set_mode(place, entry.mode)
        self._digests[place] = entry.digest

    def _tell(self, path: str, have: int, size: int) -> None:
        self._runtime.status("busy", f"fetching {path}: {have * 100 // size} %")

    # --- what is the worker's own ----------------------------------------------------------------

    async def _take(self, listed: Sequence[FileEntry], *, keeps: bool) -> None:
        """Have the worker's own files; with `keeps` those that are here count, where they differ.

        A journal that is shorter here than at home has lost its end here.
        """
        base = self._agent.path
        await self._fetch_all([one for one in listed if not self._is_own(one)], "home", base)
        for entry in filter(self._is_own, listed):
            place = base / entry.path
            status = status_of(place)
            is_short = status is None or status.st_size < entry.size
            is_lost = not keeps or (place == self._own.conversation and is_short)
            if entry.kind == "folder":
                make_folder(place, entry.mode)
            elif entry.kind == "link":
                make_link(place, entry.target)
            elif is_lost:
                await self._put(entry, "home", base, is_own=True)
            is_same = entry.kind != "file" or await self._is_here(place, entry)
            self._sent[entry.path] = self._stamp(place) if is_same else UNSENT

    def _is_own(self, entry: FileEntry) -> bool:
        return self._tracked.is_ours(entry.path)

    def _stamp(self, place: Path) -> Stamp:
        status = status_of(place)
        return UNSENT if status is None else Stamp.of(FolderEntry.of(place.name, status))

    async def send_changes(self, *, is_last: bool = False) -> None:
        """Have all that was written at home too; Refused, OSError."""
        async with self._turn:
            now = self._tracked.now(self._sent, is_last=is_last)
            if now != self._sent:
                await self._send(changes(self._sent, now), now)

    async def _send(self, todo: Changes, now: dict[str, Stamp]) -> None:
        for source, target in todo.moves:
            await self._client.do(MoveFile(path=source, target=target))
            moved = [one for one in self._sent if one == source or one.startswith(f"{source}/")]
            for one in moved:
                self._sent[target + one[len(source) :]] = self._sent.pop(one)
        folders = [path for path in todo.written if now[path].kind == "folder"]
        for path in folders:
            await self._write(path, now[path], 0)
        rest = {path: at for path, at in todo.written.items() if now[path].kind != "folder"}
        paths = list(rest)
        for first in range(0, len(paths), FETCHED_AT_ONCE):
            group = paths[first : first + FETCHED_AT_ONCE]
            await asyncio.gather(*(self._write(one, now[one], rest[one]) for one in group))
        for path in todo.removed:
            await self._allowed(path, self._client.do(RemoveFile(path=path)))
            gone = [one for one in self._sent if one == path or one.startswith(f"{path}/")]
            for one in gone:
                del self._sent[one]
        for path, begin in todo.journals.items():
            await self._write(path, now[path], begin)
        self._sent |= {path: now[path] for path in now if now[path].kind == "folder"}

    async def _write(self, path: str, stamp: Stamp, begin: int) -> None:
        place = self._agent.path / path
        try:
            match stamp.kind:
                case "folder":
                    make = MakeEntry(path=path, mode=stamp.mode & 0o777)
                    await self._allowed(path, self._client.do(make))
                case "link":
                    make = MakeEntry(path=path, target=read_link(place))
                    await self._allowed(path, self._client.do(make))
                case _:
                    mode = stamp.mode & 0o777
                    write = self._client.write(place, path, begin, stamp.size, mode)
                    await self._allowed(path, write)
        except FileNotFoundError:
            return  # it was removed meanwhile, which comes next
        self._sent[path] = stamp

    async def _allowed(self, path: str, work: Awaitable[None]) -> None:
        """Have something done at home, unless the node has been taken from this worker."""
        try:
            await work
        except OutOfScope as error:
            if not self._tracked.of_node(path):
                raise
            self._runtime.log.warning("its node's files are not taken any more", reason=str(error))
        except Refused as error:
            if not self._tracked.in_scratch(path):
                raise
            self._runtime.log.warning("not sent", path=path, reason=str(error))

    def _named(self, place: Path) -> str:
        return place.relative_to(self._agent.path).as_posix()


def _noted(path: Path) -> int:
    """Return the number of the process that wrote here last; -1 if that is unknown."""
    try:
        return int(read_bytes(path))
    except (OSError, ValueError):
        return -1
