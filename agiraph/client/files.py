"""Calls that read an agent's files: the folder of a run, of a node, and its long-term memory."""

from collections.abc import Callable
from typing import Literal

from pydantic import TypeAdapter

from agiraph.api import (
    ApiError,
    EventPage,
    FileContent,
    Folder,
    MemoryEntry,
    MemoryHit,
    MemoryQuery,
    RawFile,
    RefView,
)
from agiraph.client.call import (
    Answer,
    Call,
    Query,
    Reply,
    Verb,
    get,
    named,
    of_agent,
    parts,
    search,
)

CONFLICT = 409
NOT_MODIFIED = 304

WORKSPACE: TypeAdapter[Folder | FileContent] = TypeAdapter(Folder | FileContent)

Part = Literal["scratch", "published"]


class FileCalls:
    """What an agent wrote. Paths have `/` between their parts."""

    @Verb
    def list_files(self, agent: str, path: str = "", *, run: str | None = None) -> Call[Folder]:
        """Return a folder of a run (409 if `path` is a file)."""
        query = named(run=run)
        return Call("GET", _under(agent, "workspace", path), _only(path, Folder, "file"), query)

    @Verb
    def read_file(
        self, agent: str, path: str, *, offset: int = 0, run: str | None = None
    ) -> Call[FileContent]:
        """Return up to 1 MiB of a file of the run, from byte `offset` on (409 if a folder)."""
        query = named(offset=offset or None, run=run)
        where = _under(agent, "workspace", path)
        return Call("GET", where, _only(path, FileContent, "folder"), query)

    @Verb
    def workspace(
        self, agent: str, path: str = "", *, offset: int = 0, run: str | None = None
    ) -> Call[Folder | FileContent]:
        """Return the folder or the file at `path` under the run's folder."""
        query = named(offset=offset or None, run=run)
        return Call("GET", _under(agent, "workspace", path), _either, query)

    @Verb
    def raw_file(
        self,
        agent: str,
        path: str,
        *,
        start: int | None = None,
        end: int | None = None,
        etag: str | None = None,
        run: str | None = None,
    ) -> Call[RawFile | None]:
        """Return the bytes of a file of the run, or those from `start` up to before `end`.

        With the `etag` of what you have: None if the file has not changed.
        """
        return _raw(_under(agent, "workspace", path), start, end, etag, named(run=run))

    @Verb
    def rendered_file(self, agent: str, path: str, *, run: str | None = None) -> Call[str]:
        """Return a file of the run, Markdown or text, as HTML that loads and runs nothing."""
        return _html(_under(agent, "workspace", path), named(run=run))

    @Verb
    def node_spec(self, agent: str, node: str, *, run: str | None = None) -> Call[FileContent]:
        """Return what a node is to do, as its worker reads it."""
        path = of_agent(agent, "board", node, "spec")
        return Call("GET", path, _only("_spec.md", FileContent, "folder"), named(run=run))

    @Verb
    def node_refs(self, agent: str, node: str, *, run: str | None = None) -> Call[list[RefView]]:
        """Return what a node is given to read, and whether it is there yet."""
        return get(of_agent(agent, "board", node, "refs"), list[RefView], named(run=run))

    @Verb
    def node_log(
        self, agent: str, node: str, *, after: int = 0, limit: int = 1000, run: str | None = None
    ) -> Call[EventPage]:
        """Return what a node's worker did, step by step, after the cursor `after`."""
        query = named(after=after, limit=limit, run=run)
        return get(of_agent(agent, "board", node, "log"), EventPage, query)

    @Verb
    def node_files(
        self,
        agent: str,
        node: str,
        part: Part = "published",
        path: str = "",
        *,
        offset: int = 0,
        run: str | None = None,
    ) -> Call[Folder | FileContent]:
        """Return a folder or a file of a node's result, or of its work in progress."""
        where = "/".join([of_agent(agent, "board", node, part), *parts(path)])
        return Call("GET", where, _either, named(offset=offset or None, run=run))

    @Verb
    def memory(self, agent: str) -> Call[list[MemoryEntry]]:
        """Return the files of an agent's memory, MEMORY.md first."""
        return get(of_agent(agent, "memory"), list[MemoryEntry])

    @Verb
    def memory_file(self, agent: str, path: str) -> Call[FileContent]:
        """Return one file of an agent's memory; 404 lists the known."""
        return get(_under(agent, "memory", path), FileContent)

    @Verb
    def raw_memory_file(
        self, agent: str, path: str, *, etag: str | None = None
    ) -> Call[RawFile | None]:
        """Return the bytes of a memory file; None if it is still the one with this `etag`."""
        return _raw(_under(agent, "memory", path), None, None, etag, {})

    @Verb
    def rendered_memory_file(self, agent: str, path: str) -> Call[str]:
        """Return a memory file as HTML that loads and runs nothing."""
        return _html(_under(agent, "memory", path), {})

    @Verb
    def search_memory(self, agent: str, query: str) -> Call[list[MemoryHit]]:
        """Return the sections of an agent's memory that fit a query, the best first."""
        path = of_agent(agent, "memory", "search")
        return search(path, MemoryQuery(query=query), list[MemoryHit])


def _under(agent: str, family: str, path: str) -> str:
    return "/".join([of_agent(agent, family), *parts(path)])


def _either(reply: Reply) -> Folder | FileContent:
    return WORKSPACE.validate_json(reply.content)


def _only(path: str, wanted: type[Answer], other: str) -> Callable[[Reply], Answer]:
    """Return what reads one of the two shapes and raises ApiError 409 for the other."""

    def read(reply: Reply) -> Answer:
        found = _either(reply)
        if isinstance(found, wanted):
            return found
        raise ApiError(CONFLICT, f"'{path}' is a {other}")

    return read


def _html(where: str, query: Query) -> Call[str]:
    return Call("GET", where, lambda reply: reply.content.decode(), {**query, "as": "html"})


def _raw(
    where: str, start: int | None, end: int | None, etag: str | None, query: Query
) -> Call[RawFile | None]:
    headers = {}
    if start is not None or end is not None:
        last = "" if end is None else str(end - 1)
        headers["Range"] = f"bytes={start or 0}-{last}"
    if etag is not None:
        headers["If-None-Match"] = etag
    return Call("GET", where, _raw_of, {**query, "as": "raw"}, headers=headers)


def _raw_of(reply: Reply) -> RawFile | None:
    if reply.status == NOT_MODIFIED:
        return None
    size = reply.headers.get("content-range", "").rpartition("/")[2]
    return RawFile(
        content=reply.content,
        media_type=reply.headers.get("content-type", ""),
        etag=reply.headers.get("etag", ""),
        size=int(size) if size else len(reply.content),
    )
