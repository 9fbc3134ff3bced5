"""Endpoints: the files of an agent's run, by default of its current one, and of its nodes."""

from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from starlette.requests import Request

from actors.gateway.api.dependencies import AgentDep, GatewayDep, Offset, RunDep
from actors.gateway.auth.scopes import READ
from actors.gateway.file_browser import browse
from actors.gateway.gateway import Gateway
from actors.gateway.served_files import raw_file, rendered_file
from actors.gateway.state.boards import node_named
from agiraph.core.models import Agent, WorkNode
from agiraph.http.api import ApiError, FileContentView, FolderView
from agiraph.storage.home import RunHome

As = Annotated[
    Literal["json", "raw", "html"],
    Query(
        alias="as",
        description="json: a `FileContent` or a `Folder`; raw: the file's bytes as they are, with"
        " their own content type, ranges and an ETag (409 for a folder); html: Markdown or text,"
        " rendered",
    ),
]


def _header(words: str) -> dict[str, Any]:
    return {"description": words, "schema": {"type": "string"}}


def _asked(name: str, words: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, **_header(words)}


ASKED: dict[str, Any] = {
    "parameters": [
        _asked("Range", "with `as=raw`: one stretch of the file, `bytes=FIRST-LAST`"),
        _asked("If-Range", "with `as=raw`: the ETag of which `Range` is a stretch; else all of it"),
        _asked("If-None-Match", "with `as=raw`: ETags that the caller has; 304 if one still fits"),
    ]
}
"""What may be asked for with `as=raw` beside the path."""

OF_BYTES: dict[str, Any] = {
    "ETag": _header("with `as=raw`: changes when the file does"),
    "Last-Modified": _header("with `as=raw`: when the file was changed"),
    "Accept-Ranges": _header("with `as=raw`: bytes"),
    "Content-Disposition": _header("with `as=raw`: attachment, for what a browser would run"),
}

SHOWN: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The folder or the file; other types than JSON with `as`.",
        "content": {
            "text/html": {"schema": {"type": "string"}},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
        "headers": OF_BYTES,
    },
    206: {
        "description": "The range that was asked for, with `as=raw`.",
        "headers": {"Content-Range": _header("which bytes of how many"), **OF_BYTES},
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    },
    304: {"description": "The file is as the caller knows it (`If-None-Match`), with `as=raw`."},
    415: {"description": "The file is no text and cannot be rendered, with `as=html`."},
    416: {"description": "The file has no such range, with `as=raw`."},
}

Shown = FolderView | FileContentView


def show(root: Path, path: str, how: str, offset: Offset, request: Request) -> Shown | Response:
    """Return the folder or the file at `path` under `root`, in the way that is wanted."""
    match how:
        case "raw":
            return raw_file(root, path, request.headers, is_head=request.method == "HEAD")
        case "html":
            return rendered_file(root, path)
        case _:
            return browse(root, path, offset)


router = APIRouter(tags=["files"])

FILE: dict[str, Any] = {
    "dependencies": [READ],
    "response_model": Shown,
    "responses": SHOWN,
    "openapi_extra": ASKED,
}


@router.get("/agents/{agent}/workspace", **FILE)
@router.get("/agents/{agent}/workspace/{path:path}", **FILE)
@router.head(
    "/agents/{agent}/workspace/{path:path}",
    dependencies=[READ],
    include_in_schema=False,
    response_model=None,
)
def workspace(
    request: Request,
    agent: AgentDep,
    run: RunDep,
    path: str = "",
    offset: Offset = 0,
    how: As = "json",
) -> Shown | Response:
    """List a folder of the run, or read a file of it."""
    return show(run_begun(agent, run).path, path, how, offset, request)


@router.get("/agents/{agent}/board/{node}/spec", **FILE)
def spec(
    request: Request, agent: AgentDep, run: RunDep, node: str, gateway: GatewayDep, how: As = "json"
) -> Shown | Response:
    """Read what a node is to do, as its worker reads it."""
    home = run_begun(agent, run)
    name = home.node(find_node_of(gateway, home, node).folder).spec.name
    return _in_node(request, gateway, home, node, name, "", how, 0)


@router.get("/agents/{agent}/board/{node}/scratch", **FILE)
@router.get("/agents/{agent}/board/{node}/scratch/{path:path}", **FILE)
def scratch(
    request: Request,
    agent: AgentDep,
    run: RunDep,
    node: str,
    gateway: GatewayDep,
    path: str = "",
    offset: Offset = 0,
    how: As = "json",
) -> Shown | Response:
    """Browse a node's work in progress."""
    return _in_node(request, gateway, run_begun(agent, run), node, "scratch", path, how, offset)


@router.get("/agents/{agent}/board/{node}/published", **FILE)
@router.get("/agents/{agent}/board/{node}/published/{path:path}", **FILE)
def published(
    request: Request,
    agent: AgentDep,
    run: RunDep,
    node: str,
    gateway: GatewayDep,
    path: str = "",
    offset: Offset = 0,
    how: As = "json",
) -> Shown | Response:
    """Browse a node's result."""
    return _in_node(request, gateway, run_begun(agent, run), node, "published", path, how, offset)


def run_begun(agent: Agent, run: RunHome | None) -> RunHome:
    if run is None:
        raise ApiError(404, f"agent '{agent.name}' has no run yet")
    return run


def find_node_of(gateway: Gateway, run: RunHome, named: str) -> WorkNode:
    return node_named(gateway.boards.get(run), named)


def _in_node(
    request: Request,
    gateway: Gateway,
    run: RunHome,
    node: str,
    inner: str,
    path: str,
    how: str,
    offset: int,
) -> Shown | Response:
    """Show what lies at `path` in one part of a node's folder."""
    folder = find_node_of(gateway, run, node).folder
    return show(run.path, f"nodes/{folder}/{inner}/{path}", how, offset, request)
