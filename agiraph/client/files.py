"""Calls that read an agent's files: the folder of a run, and its long-term memory."""

from collections.abc import Callable

from pydantic import TypeAdapter

from agiraph.api import ApiError, FileContent, Folder, MemoryEntry, MemoryHit, MemoryQuery
from agiraph.client.call import Answer, Call, Verb, get, named, of_agent, parts, search

CONFLICT = 409

WORKSPACE: TypeAdapter[Folder | FileContent] = TypeAdapter(Folder | FileContent)


class FileCalls:
    """What an agent wrote."""

    @Verb
    def list_files(self, agent: str, path: str = "", *, run: str | None = None) -> Call[Folder]:
        """Return a folder of a run (409 if `path` is a file)."""
        return _workspace(agent, path, 0, run, _reading(path, Folder, "file"))

    @Verb
    def read_file(
        self, agent: str, path: str, *, offset: int = 0, run: str | None = None
    ) -> Call[FileContent]:
        """Return up to 1 MiB of a file of the run, from byte `offset` on (409 if a folder)."""
        return _workspace(agent, path, offset, run, _reading(path, FileContent, "folder"))

    @Verb
    def workspace(
        self, agent: str, path: str = "", *, offset: int = 0, run: str | None = None
    ) -> Call[Folder | FileContent]:
        """Return the folder or the file at `path` (`/` between parts) under the run's folder."""
        return _workspace(agent, path, offset, run, WORKSPACE.validate_json)

    @Verb
    def memory(self, agent: str) -> Call[list[MemoryEntry]]:
        """Return the files of an agent's memory, MEMORY.md first."""
        return get(of_agent(agent, "memory"), list[MemoryEntry])

    @Verb
    def memory_file(self, agent: str, path: str) -> Call[FileContent]:
        """Return one file of an agent's memory; 404 lists the known."""
        return get("/".join([of_agent(agent, "memory"), *parts(path)]), FileContent)

    @Verb
    def search_memory(self, agent: str, query: str) -> Call[list[MemoryHit]]:
        """Return the sections of an agent's memory that fit a query, the best first."""
        path = of_agent(agent, "memory", "search")
        return search(path, MemoryQuery(query=query), list[MemoryHit])


def _workspace(
    agent: str, path: str, offset: int, run: str | None, read: Callable[[bytes], Answer]
) -> Call[Answer]:
    where = "/".join([of_agent(agent, "workspace"), *parts(path)])
    return Call("GET", where, read, query=named(offset=offset or None, run=run))


def _reading(path: str, wanted: type[Answer], other: str) -> Callable[[bytes], Answer]:
    """Return what reads one of the two shapes and raises ApiError 409 for the other."""

    def read(content: bytes) -> Answer:
        found = WORKSPACE.validate_json(content)
        if isinstance(found, wanted):
            return found
        raise ApiError(CONFLICT, f"'{path}' is a {other}")

    return read
