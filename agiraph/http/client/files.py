"""Calls that read an agent's files: the folder of a run, of a node, and its long-term memory."""

from collections.abc import Callable
from typing import Literal

from pydantic import TypeAdapter

from agiraph.http.api import (
    ApiError,
    EventPageView,
    FileContentView,
    FolderView,
    MemoryEntryView,
    MemoryHitView,
    RawFileView,
    RefView,
    SearchMemoryRequest,
)
from agiraph.http.client.call import (
    Answer,
    ApiCall,
    ApiMethod,
    HttpReply,
    Query,
    get,
    named,
    of_agent,
    parts,
    search,
)

CONFLICT = 409
NOT_MODIFIED = 304

WORKSPACE: TypeAdapter[FolderView | FileContentView] = TypeAdapter(FolderView | FileContentView)

Part = Literal["scratch", "published"]


class FileCalls:
    """What an agent wrote. Paths have `/` between their parts."""

    @ApiMethod
    def list_files(
        self, agent: str, path: str = "", *, run: str | None = None
    ) -> ApiCall[FolderView]:
        """Return a folder of a run (409 if `path` is a file)."""
        query = named(run=run)
        return ApiCall(
            "GET", _under(agent, "workspace", path), _only(path, FolderView, "file"), query
        )

    @ApiMethod
    def read_file(
        self, agent: str, path: str, *, offset: int = 0, run: str | None = None
    ) -> ApiCall[FileContentView]:
        """Return up to 1 MiB of a file of the run, from byte `offset` on (409 if a folder)."""
        query = named(offset=offset or None, run=run)
        where = _under(agent, "workspace", path)
        return ApiCall("GET", where, _only(path, FileContentView, "folder"), query)

    @ApiMethod
    def workspace(
        self, agent: str, path: str = "", *, offset: int = 0, run: str | None = None
    ) -> ApiCall[FolderView | FileContentView]:
        """Return the folder or the file at `path` under the run's folder."""
        query = named(offset=offset or None, run=run)
        return ApiCall("GET", _under(agent, "workspace", path), _either, query)

    @ApiMethod
    def raw_file(
        self,
        agent: str,
        path: str,
        *,
        start: int | None = None,
        end: int | None = None,
        etag: str | None = None,
        run: str | None = None,
    ) -> ApiCall[RawFileView | None]:
        """Return the bytes of a file of the run, or those from `start` up to before `end`.

        With the `etag` of what you have: None if the file has not changed.
        """
        return _raw(_under(agent, "workspace", path), start, end, etag, named(run=run))

    @ApiMethod
    def rendered_file(self, agent: str, path: str, *, run: str | None = None) -> ApiCall[str]:
        """Return a file of the run, Markdown or text, as HTML that loads and runs nothing."""
        return _html(_under(agent, "workspace", path), named(run=run))

    @ApiMethod
    def node_spec(
        self, agent: str, node: str, *, run: str | None = None
    ) -> ApiCall[FileContentView]:
        """Return what a node is to do, as its worker reads it."""
        path = of_agent(agent, "board", node, "spec")
        return ApiCall("GET", path, _only("_spec.md", FileContentView, "folder"), named(run=run))

    @ApiMethod
    def node_refs(self, agent: str, node: str, *, run: str | None = None) -> ApiCall[list[RefView]]:
        """Return what a node is given to read, and whether it is there yet."""
        return get(of_agent(agent, "board", node, "refs"), list[RefView], named(run=run))

    @ApiMethod
    def node_log(
        self, agent: str, node: str, *, after: int = 0, limit: int = 1000, run: str | None = None
    ) -> ApiCall[EventPageView]:
        """Return what a node's worker did, step by step, after the cursor `after`."""
        query = named(after=after, limit=limit, run=run)
        return get(of_agent(agent, "board", node, "log"), EventPageView, query)

    @ApiMethod
    def node_files(
        self,
        agent: str,
        node: str,
        part: Part = "published",
        path: str = "",
        *,
        offset: int = 0,
        run: str | None = None,
    ) -> ApiCall[FolderView | FileContentView]:
        """Return a folder or a file of a node's result, or of its work in progress."""
        where = "/".join([of_agent(agent, "board", node, part), *parts(path)])
        return ApiCall("GET", where, _either, named(offset=offset or None, run=run))

    @ApiMethod
    def memory(self, agent: str) -> ApiCall[list[MemoryEntryView]]:
        """Return the files of an agent's memory, MEMORY.md first."""
        return get(of_agent(agent, "memory"), list[MemoryEntryView])

    @ApiMethod
    def memory_file(self, agent: str, path: str) -> ApiCall[FileContentView]:
        """Return one file of an agent's memory; 404 lists the known."""
        return get(_under(agent, "memory", path), FileContentView)

    @ApiMethod
    def raw_memory_file(
        self, agent: str, path: str, *, etag: str | None = None
    ) -> ApiCall[RawFileView | None]:
        """Return the bytes of a memory file; None if it is still the one with this `etag`."""
        return _raw(_under(agent, "memory", path), None, None, etag, {})

    @ApiMethod
    def rendered_memory_file(self, agent: str, path: str) -> ApiCall[str]:
        """Return a memory file as HTML that loads and runs nothing."""
        return _html(_under(agent, "memory", path), {})

    @ApiMethod
    def search_memory(self, agent: str, query: str) -> ApiCall[list[MemoryHitView]]:
        """Return the sections of an agent's memory that fit a query, the best first."""
        path = of_agent(agent, "memory", "search")
        return search(path, SearchMemoryRequest(query=query), list[MemoryHitView])


def _under(agent: str, family: str, path: str) -> str:
    return "/".join([of_agent(agent, family), *parts(path)])


def _either(reply: HttpReply) -> FolderView | FileContentView:
    return WORKSPACE.validate_json(reply.content)


def _only(path: str, wanted: type[Answer], other: str) -> Callable[[HttpReply], Answer]:
    """Return what reads one of the two shapes and raises ApiError 409 for the other."""

    def read(reply: HttpReply) -> Answer:
        found = _either(reply)
        if isinstance(found, wanted):
            return found
        raise ApiError(CONFLICT, f"'{path}' is a {other}")

    return read


def _html(where: str, query: Query) -> ApiCall[str]:
    return ApiCall("GET", where, lambda reply: reply.content.decode(), {**query, "as": "html"})


def _raw(
    where: str, start: int | None, end: int | None, etag: str | None, query: Query
) -> ApiCall[RawFileView | None]:
    headers = {}
    if start is not None or end is not None:
        last = "" if end is None else str(end - 1)
        headers["Range"] = f"bytes={start or 0}-{last}"
    if etag is not None:
        headers["If-None-Match"] = etag
    return ApiCall("GET", where, _raw_of, {**query, "as": "raw"}, headers=headers)


def _raw_of(reply: HttpReply) -> RawFileView | None:
    if reply.status == NOT_MODIFIED:
        return None
    size = reply.headers.get("content-range", "").rpartition("/")[2]
    return RawFileView(
        content=reply.content,
        media_type=reply.headers.get("content-type", ""),
        etag=reply.headers.get("etag", ""),
        size=int(size) if size else len(reply.content),
    )
