"""Calls about the work of a run: its board, workers, events and files; and the agent's memory.

The run is the one that is named, by default the agent's current one; 404 lists the known. Paths
have `/` between their segments.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import TypeAdapter

from agiraph.http import api
from agiraph.http.client.call import (
    Answer,
    ApiCall,
    ApiMethod,
    QueryValue,
    agent_path,
    get,
    given,
    repeatable,
    segments,
)

if TYPE_CHECKING:
    import httpx

CONFLICT = 409
NOT_MODIFIED = 304

FileOrFolder = api.FolderView | api.FileContentView
FILE_OR_FOLDER: TypeAdapter[FileOrFolder] = TypeAdapter(FileOrFolder)

Part = Literal["scratch", "published"]


class WorkCalls:
    """What a run does, and what it wrote."""

    @ApiMethod
    def board(
        self, agent: str, *, at: int | None = None, run: str | None = None
    ) -> ApiCall[api.BoardView]:
        """Return the nodes and stages of a run, as they are or as they were at an earlier `seq`."""
        return get(agent_path(agent, "board"), api.BoardView, at=at, run=run)

    @ApiMethod
    def node(self, agent: str, node: str, *, run: str | None = None) -> ApiCall[api.NodeDetailView]:
        """Return one node, by id or name."""
        return get(agent_path(agent, "board", node), api.NodeDetailView, run=run)

    @ApiMethod
    def workers(self, agent: str, *, run: str | None = None) -> ApiCall[list[api.WorkerView]]:
        """Return the workers of a run, with what they do right now."""
        return get(agent_path(agent, "workers"), list[api.WorkerView], run=run)

    @ApiMethod
    def events(
        self,
        agent: str,
        *,
        after: int = 0,
        limit: int = 1000,
        types: Sequence[str] = (),
        entity: str | None = None,
        node: str | None = None,
    ) -> ApiCall[api.EventPageView]:
        """Return the events after cursor `after`, at most `limit`; `.next` is the next cursor.

        `types` (such as `node.*`), `entity` (a name, an id or an address) and `node` (a name or an
        id) select them. `.next` is `after` again when nothing follows.
        """
        path, kinds = agent_path(agent, "events"), list(types)
        return get(
            path, api.EventPageView, after=after, limit=limit, type=kinds, entity=entity, node=node
        )

    @ApiMethod
    def list_files(
        self, agent: str, path: str = "", *, run: str | None = None
    ) -> ApiCall[api.FolderView]:
        """Return a folder of a run (409 if `path` is a file)."""
        where = _under(agent, "workspace", path)
        return ApiCall("GET", where, _only(path, api.FolderView, "file"), given(run=run))

    @ApiMethod
    def read_file(
        self, agent: str, path: str, *, offset: int = 0, run: str | None = None
    ) -> ApiCall[api.FileContentView]:
        """Return up to 1 MiB of a file of the run, from byte `offset` on (409 if a folder)."""
        query = given(offset=offset or None, run=run)
        where = _under(agent, "workspace", path)
        return ApiCall("GET", where, _only(path, api.FileContentView, "folder"), query)

    @ApiMethod
    def workspace(
        self, agent: str, path: str = "", *, offset: int = 0, run: str | None = None
    ) -> ApiCall[FileOrFolder]:
        """Return the folder or the file at `path` under the run's folder."""
        query = given(offset=offset or None, run=run)
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
    ) -> ApiCall[api.RawFileView | None]:
        """Return the bytes of a file of the run, or those from `start` up to before `end`.

        With the `etag` of an earlier answer: None if the file has not changed since.
        """
        headers = {}
        if start is not None or end is not None:
            headers["Range"] = f"bytes={start or 0}-{'' if end is None else end - 1}"
        return _raw(_under(agent, "workspace", path), etag, headers, run=run)

    @ApiMethod
    def rendered_file(self, agent: str, path: str, *, run: str | None = None) -> ApiCall[str]:
        """Return a file of the run, Markdown or text, as HTML without scripts or references."""
        return _html(_under(agent, "workspace", path), run=run)

    @ApiMethod
    def node_spec(
        self, agent: str, node: str, *, run: str | None = None
    ) -> ApiCall[api.FileContentView]:
        """Return the specification of a node, as its worker reads it."""
        return get(agent_path(agent, "board", node, "spec"), api.FileContentView, run=run)

    @ApiMethod
    def node_refs(
        self, agent: str, node: str, *, run: str | None = None
    ) -> ApiCall[list[api.RefView]]:
        """Return what a node is given to read, and whether it is there yet."""
        return get(agent_path(agent, "board", node, "refs"), list[api.RefView], run=run)

    @ApiMethod
    def node_log(
        self, agent: str, node: str, *, after: int = 0, limit: int = 1000, run: str | None = None
    ) -> ApiCall[api.EventPageView]:
        """Return what a node's worker did, step by step, after the cursor `after`."""
        path = agent_path(agent, "board", node, "log")
        return get(path, api.EventPageView, after=after, limit=limit, run=run)

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
    ) -> ApiCall[FileOrFolder]:
        """Return a folder or a file of a node's result, or of its work in progress."""
        where = "/".join([agent_path(agent, "board", node, part), *segments(path)])
        return ApiCall("GET", where, _either, given(offset=offset or None, run=run))

    @ApiMethod
    def memory(self, agent: str) -> ApiCall[list[api.MemoryEntryView]]:
        """Return the files of an agent's memory, MEMORY.md first."""
        return get(agent_path(agent, "memory"), list[api.MemoryEntryView])

    @ApiMethod
    def memory_file(self, agent: str, path: str) -> ApiCall[api.FileContentView]:
        """Return one file of an agent's memory; 404 lists the known."""
        return get(_under(agent, "memory", path), api.FileContentView)

    @ApiMethod
    def raw_memory_file(
        self, agent: str, path: str, *, etag: str | None = None
    ) -> ApiCall[api.RawFileView | None]:
        """Return the bytes of a memory file; None if it is still the one with this `etag`."""
        return _raw(_under(agent, "memory", path), etag, {})

    @ApiMethod
    def rendered_memory_file(self, agent: str, path: str) -> ApiCall[str]:
        """Return a memory file as HTML without scripts or references."""
        return _html(_under(agent, "memory", path))

    @ApiMethod
    def search_memory(self, agent: str, query: str) -> ApiCall[list[api.MemoryHitView]]:
        """Return the sections of an agent's memory that match a query, the best first."""
        path, body = agent_path(agent, "memory", "search"), api.SearchMemoryRequest(query=query)
        return repeatable("POST", path, list[api.MemoryHitView], body)


def _under(agent: str, folder: str, path: str) -> str:
    return "/".join([agent_path(agent, folder), *segments(path)])


def _either(response: "httpx.Response") -> FileOrFolder:
    return FILE_OR_FOLDER.validate_json(response.content)


def _only(path: str, wanted: type[Answer], other: str) -> "Callable[[httpx.Response], Answer]":
    """Return a function that reads one of the two shapes and raises ApiError 409 for the other."""

    def read(response: "httpx.Response") -> Answer:
        found = _either(response)
        if isinstance(found, wanted):
            return found
        raise api.ApiError(CONFLICT, f"'{path}' is a {other}")

    return read


def _html(where: str, **query: QueryValue) -> ApiCall[str]:
    return ApiCall("GET", where, lambda response: response.text, {**given(**query), "as": "html"})


def _raw(
    where: str, etag: str | None, headers: dict[str, str], **query: QueryValue
) -> ApiCall[api.RawFileView | None]:
    if etag is not None:
        headers["If-None-Match"] = etag
    return ApiCall("GET", where, _raw_of, {**given(**query), "as": "raw"}, headers=headers)


def _raw_of(response: "httpx.Response") -> api.RawFileView | None:
    if response.status_code == NOT_MODIFIED:
        return None
    size = response.headers.get("content-range", "").rpartition("/")[2]
    return api.RawFileView(
        content=response.content,
        media_type=response.headers.get("content-type", ""),
        etag=response.headers.get("etag", ""),
        size=int(size) if size else len(response.content),
    )
