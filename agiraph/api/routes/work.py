"""Endpoints for the work and the files of a run (by default the current one)."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Response
from starlette.requests import Request

from agiraph.api.auth.scopes import READ
from agiraph.api.delivered import delivered, zipped_result
from agiraph.api.gateway import Gateway
from agiraph.api.routes.dependencies import After, AgentDep, At, GatewayDep, Limit, Offset, RunDep
from agiraph.api.routes.entities import children, if_answered
from agiraph.api.routes.overview import spent_in, team
from agiraph.api.served_files import raw_file, rendered_file
from agiraph.api.strict_json import StrictRoute
from agiraph.api.zipped import zipped_folder
from agiraph.board.plans.export import plan_of_board
from agiraph.core.errors import Corrupt
from agiraph.core.models import WorkNode
from agiraph.http.api import (
    BoardView,
    DeliveredView,
    EventPageView,
    EventView,
    FileContentView,
    FolderView,
    NodeDetailView,
    RefView,
    WorkerView,
)
from agiraph.http.errors import ApiError
from agiraph.logs.event_log import EventLog
from agiraph.readmodel.boards import board_view, earlier_attempts, node_detail
from agiraph.readmodel.files import browse
from agiraph.readmodel.names import node_named
from agiraph.storage.home import RunHome

work_router = APIRouter(route_class=StrictRoute, dependencies=[READ], tags=["work"])
files_router = APIRouter(route_class=StrictRoute, dependencies=[READ], tags=["files"])

# --- the board ---


@work_router.get("/agents/{agent}/board")
async def board(agent: AgentDep, run: RunDep, gateway: GatewayDep, at: At = None) -> BoardView:
    """Show all nodes and stages, as they are or as they were `at` an earlier `seq`."""
    if at is not None:
        return board_view(gateway.boards.at(run, at), at)
    most = gateway.config.run.max_concurrent
    return gateway.boards.view(run).model_copy(update={"max_concurrent": most})


@work_router.get("/agents/{agent}/plan")
async def plan(agent: AgentDep, run: RunDep, gateway: GatewayDep) -> dict[str, Any]:
    """Show the work of a run as a plan file (JSON) that can be run again."""
    state = gateway.boards.get(run)
    if not state.nodes:
        raise ApiError(404, f"agent '{agent.name}' has no nodes in this run: there is no plan")
    return plan_of_board(state)


@work_router.get("/agents/{agent}/board/{node}")
async def node(agent: AgentDep, run: RunDep, node: str, gateway: GatewayDep) -> NodeDetailView:
    """Show one node by id or name."""
    state = gateway.boards.get(run)
    found = node_named(state, node)
    return node_detail(state, found, earlier_attempts(run, found) if run else ())


@work_router.get("/agents/{agent}/workers")
async def workers(agent: AgentDep, run: RunDep, gateway: GatewayDep) -> list[WorkerView]:
    """List the workers with their current activity."""
    table, spent = await asyncio.gather(
        if_answered(children(gateway)),
        if_answered(spent_in(gateway, [run.path.name] if run is not None else [])),
    )
    return team(gateway, agent, run, gateway.statuses(table or ()), spent)


# --- files ---

MOST_DEPTH = 20

As = Annotated[
    Literal["json", "raw", "html", "zip"],
    Query(
        alias="as",
        description="json: a `FileContent` or a `Folder`; raw: the file's bytes as they are, with"
        " their own content type, ranges and an ETag (409 for a folder); html: Markdown or text,"
        " rendered; zip: a folder with all that is in it (409 for a file, 413 if it is too large)",
    ),
]
Depth = Annotated[
    int, Query(ge=1, le=MOST_DEPTH, description="How many levels of a folder are listed.")
]


def _header(words: str) -> dict[str, Any]:
    return {"description": words, "schema": {"type": "string"}}


def _asked(name: str, words: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, **_header(words)}


OF_BYTES: dict[str, Any] = {
    "ETag": _header("with `as=raw`: changes when the file does"),
    "Last-Modified": _header("with `as=raw`: when the file was changed"),
    "Accept-Ranges": _header("with `as=raw`: bytes"),
    "Content-Disposition": _header("with `as=raw`: attachment, for what a browser would run"),
}
BYTES: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}

SHOWN: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The folder or the file; other types than JSON with `as`.",
        "content": {
            "text/html": {"schema": {"type": "string"}},
            "application/octet-stream": BYTES,
            "application/zip": BYTES,
        },
        "headers": OF_BYTES,
    },
    206: {
        "description": "The range that was asked for, with `as=raw`.",
        "headers": {"Content-Range": _header("which bytes of how many"), **OF_BYTES},
        "content": {"application/octet-stream": BYTES},
    },
    304: {"description": "The file is as the caller knows it (`If-None-Match`), with `as=raw`."},
    415: {"description": "The file is no text and cannot be rendered, with `as=html`."},
    416: {"description": "The file has no such range, with `as=raw`."},
}

ASKED: list[dict[str, Any]] = [
    _asked("Range", "with `as=raw`: one stretch of the file, `bytes=FIRST-LAST`"),
    _asked("If-Range", "with `as=raw`: the ETag of which `Range` is a stretch; else all of it"),
    _asked("If-None-Match", "with `as=raw`: ETags that the caller has; 304 if one still fits"),
]
"""Request headers of a file with `as=raw`."""

Shown = FolderView | FileContentView
DESCRIBED: dict[str, Any] = {"responses": SHOWN, "openapi_extra": {"parameters": ASKED}}
FILE: dict[str, Any] = {"response_model": Shown, **DESCRIBED}


@dataclass(frozen=True, slots=True)
class FileForm:
    """The form in which a file is requested: its format, offset, and for a folder its depth."""

    request: Request
    gateway: GatewayDep
    how: As = "json"
    offset: Offset = 0
    depth: Depth = 1

    def show(self, root: Path, path: str) -> Shown | Response:
        """Return the folder or file at `path` below `root` in the requested form."""
        is_head = self.request.method == "HEAD"
        match self.how:
            case "raw":
                return raw_file(root, path, self.request.headers, is_head=is_head)
            case "zip":
                most = self.gateway.config.files.zip_bytes
                return zipped_folder(root, path, most, is_head=is_head)
            case "html":
                return rendered_file(root, path)
            case _:
                return browse(root, path, self.offset, depth=self.depth)


FormDep = Annotated[FileForm, Depends()]


async def _begun(agent: AgentDep, run: RunDep) -> RunHome:
    if run is None:
        raise ApiError(404, f"agent '{agent.name}' has no run yet")
    return run


BegunDep = Annotated[RunHome, Depends(_begun)]


async def _node(run: BegunDep, node: str, gateway: GatewayDep) -> WorkNode:
    return node_named(gateway.boards.get(run), node)


NodeDep = Annotated[WorkNode, Depends(_node)]


ZIPPED: dict[str, Any] = {"content": {"application/zip": BYTES}}
How = Annotated[
    Literal["json", "zip"],
    Query(alias="as", description="json: a `Delivered`; zip: the files (413 if too large)"),
]


@files_router.get("/agents/{agent}/result", response_model=DeliveredView, responses={200: ZIPPED})
def result(
    agent: AgentDep, run: BegunDep, gateway: GatewayDep, how: How = "json"
) -> DeliveredView | Response:
    """List the files that a run has delivered, or send them as a zip file."""
    board = gateway.boards.get(run)
    if how == "zip":
        most = gateway.config.files.zip_bytes
        return zipped_result(run, board, f"{agent.name}-result", most)
    return delivered(run, board)


@files_router.get("/agents/{agent}/workspace", **FILE)
@files_router.get("/agents/{agent}/workspace/{path:path}", **FILE)
@files_router.head(
    "/agents/{agent}/workspace/{path:path}", include_in_schema=False, response_model=None
)
def workspace(
    run: BegunDep, form: FormDep, gateway: GatewayDep, path: str = ""
) -> Shown | Response:
    """List a folder of the run, or read one of its files.

    In a path `nodes/NODE/...` NODE may also be the node's name or id.
    """
    return form.show(run.path, _with_folder(gateway, run, path))


def _with_folder(gateway: Gateway, run: RunHome, path: str) -> str:
    """Return the stored path of a file; agents also write `nodes/{name or id}`."""
    if not path.startswith("nodes/"):
        return path
    top, named, *rest = path.split("/")
    try:
        return "/".join((top, node_named(gateway.boards.get(run), named).folder, *rest))
    except (ApiError, Corrupt):
        return path


@files_router.get("/agents/{agent}/board/{node}/refs")
def refs(run: BegunDep, node: NodeDep) -> list[RefView]:
    """List the inputs of a node: results of other nodes, by the names that the node uses."""
    return [_ref_view(run, name, path) for name, path in node.refs.items()]


def _ref_view(run: RunHome, name: str, path: str) -> RefView:
    """Return one reference; a path outside the run, or without a file, has `is_there` false."""
    try:
        found = browse(run.path, path, limit=1)
    except ApiError:
        return RefView(name=name, path=path)
    size = found.size if isinstance(found, FileContentView) else None
    return RefView(name=name, path=path, is_there=True, size=size)


@files_router.get("/agents/{agent}/board/{node}/log")
def log(
    agent: AgentDep, run: BegunDep, node: NodeDep, after: After = 0, limit: Limit = 1000
) -> EventPageView:
    """Page through the steps of a node's worker."""
    events = EventLog(run.node(node.folder).log, agent.id).page(after, limit)
    views = tuple(map(EventView.of, events))
    return EventPageView(events=views, next=events[-1].seq if events else after)


@files_router.get("/agents/{agent}/board/{node}/spec", **FILE)
def spec(run: BegunDep, node: NodeDep, form: FormDep) -> Shown | Response:
    """Read a node's specification in the form that its worker reads."""
    return form.show(run.path, f"nodes/{node.folder}/{run.node(node.folder).spec.name}")


@files_router.get("/agents/{agent}/board/{node}/scratch", **FILE)
@files_router.get("/agents/{agent}/board/{node}/scratch/{path:path}", **FILE)
def scratch(run: BegunDep, node: NodeDep, form: FormDep, path: str = "") -> Shown | Response:
    """Browse a node's work in progress."""
    return form.show(run.path, f"nodes/{node.folder}/scratch/{path}")


Attempt = Annotated[
    int | None,
    Query(ge=1, description="An earlier attempt, one of the node's `earlier_attempts`."),
]


@files_router.get("/agents/{agent}/board/{node}/published", **FILE)
@files_router.get("/agents/{agent}/board/{node}/published/{path:path}", **FILE)
def published(
    run: BegunDep, node: NodeDep, form: FormDep, path: str = "", attempt: Attempt = None
) -> Shown | Response:
    """Browse a node's result, or the kept result of an earlier `attempt`."""
    part = "published"
    if attempt not in (None, node.attempt):
        kept = earlier_attempts(run, node)
        if attempt not in kept:
            numbers = ", ".join(map(str, filter(None, (*kept, node.attempt)))) or "none"
            raise ApiError(404, f"nothing of attempt {attempt} was kept (there is: {numbers})")
        part = f"attempts/{attempt}"
    return form.show(run.path, f"nodes/{node.folder}/{part}/{path}")
