"""Endpoints that read and edit an agent's memory, and the earlier versions of its files."""

from asyncio import to_thread
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Response
from starlette.requests import Request

from agiraph.api.auth.scopes import CONTROL, READ
from agiraph.api.gateway import Gateway
from agiraph.api.routes.dependencies import AgentDep, CallerDep, CauseDep, GatewayDep
from agiraph.api.routes.messages import tell_coordinator
from agiraph.api.routes.work import DESCRIBED, As, FileForm, Shown
from agiraph.api.strict_json import StrictRoute
from agiraph.core.errors import InvalidInput, Refused, unknown
from agiraph.core.ids import HUMAN_NAME
from agiraph.core.models import Agent
from agiraph.http.api import (
    EditMemoryRequest,
    FileContentView,
    MemoryEntryView,
    MemoryHitView,
    MemoryVersionView,
    SearchMemoryRequest,
)
from agiraph.http.errors import ApiError
from agiraph.memory.history import Author, MemoryHistory, MemoryVersion
from agiraph.memory.memory_files import (
    ANY_TEXT,
    FOLDER,
    MAIN,
    ChangedMeanwhile,
    MemoryFiles,
    MemoryWritten,
)
from agiraph.memory.search import search
from agiraph.readmodel.media_types import kind_of
from agiraph.storage.files import status_of
from agiraph.storage.walk import etag_of

SHOWN_IN_EVENTS = 200
EDITED = (
    "I have edited your memory: {path} ({size} characters now). Read it with memory_read before you"
    " rely on what you remember of it. No answer is needed."
)
REMOVED = "I have removed {path} from your memory. No answer is needed."
PATH = "/agents/{agent}/memory/{path:path}"
CHANGED: dict[int | str, dict[str, Any]] = {
    412: {"description": "The file is not as `If-Match` says; the detail names who changed it."}
}

router = APIRouter(route_class=StrictRoute, tags=["memory"])


@router.get("/agents/{agent}/memory", dependencies=[READ])
def files(agent: AgentDep, gateway: GatewayDep) -> list[MemoryEntryView]:
    """List the files of an agent's memory."""
    home = gateway.agents.home_of(agent)
    entries = []
    for name in _memory_of(gateway, agent).names():
        found = status_of(home.path / _path_of(name))
        if found is not None:  # otherwise it was removed since it was listed
            entries.append(
                MemoryEntryView(
                    path=name,
                    size=found.st_size,
                    modified_at=found.st_mtime,
                    etag=etag_of(found),
                )
            )
    return entries


@router.post("/agents/{agent}/memory/search", dependencies=[READ])
def find(agent: AgentDep, query: SearchMemoryRequest, gateway: GatewayDep) -> list[MemoryHitView]:
    """Return the sections that match a query, the best first."""
    documents = _memory_of(gateway, agent).documents()
    limit = gateway.config.memory.search_results
    found = search(documents, query.query, inline_limit=-1, limit=limit)
    return [
        MemoryHitView(path=hit.path, heading=hit.heading, score=hit.score, text=hit.text)
        for hit in found.hits
    ]


@router.get(f"{PATH}/history", dependencies=[READ])
def history(agent: AgentDep, path: str, gateway: GatewayDep) -> list[MemoryVersionView]:
    """List the earlier versions of a memory file, the oldest first."""
    found = _history_of(gateway, agent).versions(_name(gateway, agent, path))
    return [_version_view(version) for version in found]


@router.get(f"{PATH}/history/{{number}}", dependencies=[READ])
def version(agent: AgentDep, path: str, number: int, gateway: GatewayDep) -> MemoryVersionView:
    """Read an earlier version of a memory file."""
    try:
        found = _history_of(gateway, agent).version(_name(gateway, agent, path), number)
    except InvalidInput as error:
        raise ApiError(404, str(error)) from None
    return _version_view(found, content=found.content)


@router.get(PATH, response_model=FileContentView, dependencies=[READ], **DESCRIBED)
def read(
    request: Request, agent: AgentDep, path: str, gateway: GatewayDep, how: As = "json"
) -> Shown | Response:
    """Read one file."""
    home, files = gateway.agents.home_of(agent), _memory_of(gateway, agent)
    name = _existing(gateway, agent, path)
    if how != "json":
        return FileForm(request, gateway, how).show(home.path, _path_of(name))
    etag = files.etag(name)
    text = files.read(name, lambda scoped: home.path / scoped)
    return _content(name, text, etag)


IfMatch = Annotated[
    str | None,
    Header(description="The `etag` of the text that the change is made to; 412 if it is another."),
]
IfNoneMatch = Annotated[
    str | None, Header(description="`*`: only if there is no such file yet; else 412.")
]


@dataclass(frozen=True, slots=True)
class MemoryEdit:
    """A change that a person makes to a memory file."""

    agent: AgentDep
    path: str
    gateway: GatewayDep
    caller: CallerDep
    cause: CauseDep
    if_match: IfMatch = None
    if_none_match: IfNoneMatch = None

    async def carry_out(self, content: str, *, tells: bool) -> FileContentView:
        """Write the file, or remove it for "", and report the event; return the file.

        With `tells` a working coordinator is notified. Raises ApiError: 412 if the file has
        changed, 422 for an invalid size or name.
        """
        files = _memory_of(self.gateway, self.agent)
        expected = "" if self.if_none_match == ANY_TEXT else self.if_match
        author = Author(HUMAN_NAME, self.caller.name)
        try:
            written = await to_thread(files.edit, self.path, content, author, expected)
        except ChangedMeanwhile as error:
            raise ApiError(412, str(error)) from None
        except InvalidInput as error:
            raise ApiError(422, str(error)) from None
        await self._report(written, content)
        if tells and self.agent.status == "working":
            with suppress(ApiError):
                text = EDITED if content else REMOVED
                words = text.format(path=written.path, size=written.size)
                await tell_coordinator(self.gateway, self.agent, words, self.cause)
        return _content(written.path, written.text, files.etag(written.path))

    async def _report(self, written: MemoryWritten, content: str) -> None:
        data = {"path": written.path, "characters": written.size, "change": written.change}
        data |= {"shown": content[:SHOWN_IN_EVENTS]}
        id = self.cause.message(f"memory of {self.agent.id}")
        await self.gateway.reporter.report("memory.written", self.agent.id, id, data)


EditDep = Annotated[MemoryEdit, Depends()]


@router.put(PATH, dependencies=[CONTROL], responses=CHANGED)
async def edit(body: EditMemoryRequest, edit: EditDep) -> FileContentView:
    """Write a memory file; its earlier versions are kept."""
    return await edit.carry_out(body.content, tells=body.tell)


@router.delete(PATH, dependencies=[CONTROL], responses=CHANGED)
async def remove(edit: EditDep) -> FileContentView:
    """Remove a memory file, except MEMORY.md; its versions are kept."""
    if not edit.cause.is_again:
        _existing(edit.gateway, edit.agent, edit.path)
    return await edit.carry_out("", tells=True)


def _content(name: str, text: str, etag: str) -> FileContentView:
    size = len(text.encode())
    return FileContentView(
        path=name,
        content=text,
        size=size,
        returned=size,
        media_type=kind_of(name).media_type,
        etag=etag,
    )


def _version_view(version: MemoryVersion, content: str | None = None) -> MemoryVersionView:
    facts = version.model_dump(exclude={"content"})
    return MemoryVersionView(size=len(version.content), content=content, **facts)


def _name(gateway: Gateway, agent: Agent, path: str) -> str:
    """Return the name in the memory for a requested path.

    Raises ApiError 404 if the path is invalid.
    """
    try:
        return _memory_of(gateway, agent).name_of(path)
    except Refused as error:
        raise ApiError(404, str(error)) from None


def _existing(gateway: Gateway, agent: Agent, path: str) -> str:
    """Return the name in the memory of an existing file.

    Raises ApiError 404, which lists the files.
    """
    name, names = _name(gateway, agent, path), _memory_of(gateway, agent).names()
    if name not in names:
        raise ApiError(404, str(unknown("memory file", path, names)))
    return name


def _path_of(name: str) -> str:
    """Return the path of a memory file relative to the agent's home."""
    return name if name == MAIN else f"{FOLDER}{name}"


def _memory_of(gateway: Gateway, agent: Agent) -> MemoryFiles:
    return MemoryFiles.of_agent(gateway.agents.home_of(agent), gateway.config.memory)


def _history_of(gateway: Gateway, agent: Agent) -> MemoryHistory:
    return MemoryHistory(gateway.agents.home_of(agent), gateway.config.memory.versions)
