"""Endpoints: the files of an agent's run, by default of its current one, and of its nodes."""

from typing import Any

from fastapi import APIRouter, Response
from starlette.requests import Request

from actors.gateway.api.dependencies import After, GatewayDep, Limit, AgentDep, Offset, RunDep
from actors.gateway.api.file_responses import ASKED, SHOWN, As, Shown, show
from actors.gateway.gateway import Gateway
from actors.gateway.resources.nodes import ref_views
from actors.gateway.state.boards import node_named
from actors.recorder.event_log import EventLog
from agiraph.core.models import Agent, WorkNode
from agiraph.http.api import ApiError, EventPageView, RefView
from agiraph.storage.home import RunHome

router = APIRouter(tags=["files"])

FILE: dict[str, Any] = {"response_model": Shown, "responses": SHOWN, "openapi_extra": ASKED}


@router.get("/agents/{agent}/workspace", **FILE)
@router.get("/agents/{agent}/workspace/{path:path}", **FILE)
@router.head("/agents/{agent}/workspace/{path:path}", include_in_schema=False, response_model=None)
def workspace(
    request: Request,
    agent: AgentDep,
    run: RunDep,
    path: str = "",
    offset: Offset = 0,
    how: As = "json",
) -> Shown | Response:
    """List a folder of the run, or read a file of it."""
    return show(_begun(agent, run).path, path, how, offset, request)


@router.get("/agents/{agent}/board/{node}/spec", **FILE)
def spec(
    request: Request, agent: AgentDep, run: RunDep, node: str, gateway: GatewayDep, how: As = "json"
) -> Shown | Response:
    """Read what a node is to do, as its worker reads it."""
    home = _begun(agent, run)
    name = home.node(_node(gateway, home, node).folder).spec.name
    return _in_node(request, gateway, home, node, name, "", how, 0)


@router.get("/agents/{agent}/board/{node}/refs")
def refs(agent: AgentDep, run: RunDep, node: str, gateway: GatewayDep) -> list[RefView]:
    """List what a node is given to read: results of other nodes, by the names it knows them by."""
    home = _begun(agent, run)
    return ref_views(home, _node(gateway, home, node))


@router.get("/agents/{agent}/board/{node}/log")
def log(
    agent: AgentDep, run: RunDep, node: str, gateway: GatewayDep, after: After = 0, limit: Limit = 1000
) -> EventPageView:
    """Page through what a node's worker did, step by step."""
    home = _begun(agent, run)
    events = EventLog(home.node(_node(gateway, home, node).folder).log).page(after, limit)
    return EventPageView(events=tuple(events), next=events[-1].seq if events else after)


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
    return _in_node(request, gateway, _begun(agent, run), node, "scratch", path, how, offset)


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
    return _in_node(request, gateway, _begun(agent, run), node, "published", path, how, offset)


def _begun(agent: Agent, run: RunHome | None) -> RunHome:
    if run is None:
        raise ApiError(404, f"agent '{agent.name}' has no run yet")
    return run


def _node(gateway: Gateway, run: RunHome, named: str) -> WorkNode:
    return node_named(gateway.boards.of(run), named)


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
    folder = _node(gateway, run, node).folder
    return show(run.path, f"nodes/{folder}/{inner}/{path}", how, offset, request)
