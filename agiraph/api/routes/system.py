"""Endpoints for health, models, consoles, logs, dead letters and tool servers."""

import asyncio
import os
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from agiraph import __version__
from agiraph.api.auth.scopes import CONTROL, READ
from agiraph.api.gateway import Gateway
from agiraph.api.routes.dependencies import CauseDep, GatewayDep, Limit
from agiraph.api.routes.entities import children
from agiraph.api.strict_json import StrictRoute
from agiraph.core.clock import iso
from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.ids import BROKER, COORDINATOR_NAME, SUPERVISOR, tools_address
from agiraph.http.api import (
    ApiError,
    ConsoleTicketView,
    DeadLetterView,
    ExternalAgentView,
    HealthView,
    LogLevel,
    LogLineView,
    ModelsView,
    ServedToolView,
    ToolServerView,
)
from agiraph.http.errors import UNPROCESSABLE
from agiraph.logs.logbook import JsonObject, LogQuery, logs_of, read_latest
from agiraph.mcp.catalog import ToolCatalog, in_words, read_catalog
from agiraph.mcp.grants import ToolHolder, check_lent, wanted_servers
from agiraph.messages.child import AttachConsole, AttachTicket
from agiraph.messages.control import RetryLetter
from agiraph.messages.model import ListModels, ModelCatalog
from agiraph.messages.tool import ListTools, ToolsListed
from agiraph.settings.config import Config
from agiraph.settings.mcp_servers import fingerprint

SLACK_SECONDS = 5.0
LAST_TIME = 1e11
LOG_KEYS = ("timestamp", "level", "entity", "event", "exception")
UNUSABLE = "unusable"
NEVER_ASKED = "unknown"

router = APIRouter(route_class=StrictRoute, tags=["system"])
dead_router = APIRouter(route_class=StrictRoute, tags=["dead"])


@router.get("/health", dependencies=[READ])
async def health(gateway: GatewayDep) -> HealthView:
    """Show the version, the home and the process of this gateway."""
    return HealthView(
        version=__version__,
        home=str(gateway.home.path),
        pid=os.getpid(),
        agents=len(gateway.agents.all()),
        open_questions=len(gateway.questions.open()),
    )


@router.get("/models", dependencies=[READ])
async def models(gateway: GatewayDep) -> ModelsView:
    """List the providers and whether each is usable."""
    catalog = await gateway.bus.ask(BROKER, ListModels(asks_servers=True), ModelCatalog)
    return ModelsView(providers=catalog.providers, default=catalog.default, why=catalog.why)


@router.get("/outside", dependencies=[READ])
def external_agents(gateway: GatewayDep) -> list[ExternalAgentView]:
    """List the external agents that can be workers, and whether each is installed here."""
    from agiraph.external.preflight import agent_row  # rarely needed
    from agiraph.external.preset import known_agents
    from agiraph.tools.sandbox.sandbox import find_sandbox

    sandbox = find_sandbox(gateway.config.sandbox)
    agents = known_agents(gateway.home.path, os.environ)
    return [
        ExternalAgentView.model_validate(agent_row(agent, sandbox, os.environ)) for agent in agents
    ]


@router.post("/consoles", dependencies=[CONTROL], status_code=201)
async def attach(gateway: GatewayDep) -> ConsoleTicketView:
    """Return a ticket with which a console joins the bus."""
    ticket = await gateway.bus.ask(SUPERVISOR, AttachConsole(), AttachTicket)
    return ConsoleTicketView(
        address=ticket.address,
        incarnation=ticket.incarnation,
        ticket=ticket.ticket.hex(),
        router_url=ticket.router_url,
    )


@router.get("/logs", dependencies=[CONTROL])
async def logs(
    gateway: GatewayDep,
    entity: Annotated[
        str, Query(description="An address, a worker's name, an agent or a service; '': all.")
    ] = "",
    level: Annotated[LogLevel, Query(description="Only this level and above.")] = "debug",
    since: Annotated[float, Query(ge=0, le=LAST_TIME, description="In epoch seconds.")] = 0.0,
    limit: Limit = 200,
) -> list[LogLineView]:
    """List the last lines of the processes' logs, oldest first; 404 lists the known."""
    wanted = LogQuery(iso(since)[:19] if since else "", level)
    try:
        files = await asyncio.to_thread(logs_of, gateway.home.system.logs, entity or None)
    except InvalidInput as error:
        raise ApiError(404, str(error)) from None
    lines = await asyncio.to_thread(read_latest, files, wanted, limit)
    return [_log_line(line) for line in lines]


def _log_line(line: JsonObject) -> LogLineView:
    shown = {key: str(line.get(key) or "") for key in LOG_KEYS}
    rest = {key: value for key, value in line.items() if key not in LOG_KEYS}
    return LogLineView.model_validate({**shown, "fields": rest})


@dead_router.get("/dead", dependencies=[READ])
async def dead(gateway: GatewayDep) -> list[DeadLetterView]:
    """List the messages that repeatedly crashed their receiver, oldest first."""
    return gateway.dead_letters.views()


@dead_router.post("/dead/{letter}/retry", dependencies=[CONTROL])
async def retry(letter: str, gateway: GatewayDep, cause: CauseDep) -> DeadLetterView:
    """Send a message back to its receiver; 404 lists the known messages."""
    if (before := gateway.dead_letters.sent_by(cause.id)) is not None:
        return before
    found = gateway.dead_letters.find(letter)
    id = cause.message(f"retry of {letter}")
    await gateway.bus.send(found.to, RetryLetter(letter=found), id=id)
    return gateway.dead_letters.sent_back(letter, cause.id)


@router.get("/servers", dependencies=[READ])
async def servers(gateway: GatewayDep, afresh: bool = False) -> list[ToolServerView]:
    """List the MCP servers, by name, with the tools of each; `afresh` queries them now."""
    config = gateway.config
    names = sorted(config.mcp.servers)
    if afresh:
        found = await asyncio.gather(*(_fetch(gateway, name) for name in names))
    else:
        found = [_stored(gateway, name) for name in names]
    states = {child.address: child.state for child in await children(gateway)} if names else {}
    return [
        _view(config, name, str(states.get(tools_address(name), "")), catalog)
        for name, catalog in zip(names, found, strict=True)
    ]


async def require_tools(gateway: Gateway, tools: Sequence[str]) -> None:
    """Raise ApiError 422 for a tool that is unknown, or that a coordinator cannot have."""
    from agiraph.tools.toolbox import Toolbox  # few requests that create an agent name tools

    servers = gateway.config.mcp.servers
    try:
        Toolbox.for_entity("coordinator", tools)
        check_lent(servers, {}, tools, COORDINATOR_NAME)
        wanted = wanted_servers(servers, ToolHolder((COORDINATOR_NAME,), tools))
        catalogs = {name: _stored(gateway, name) for name in wanted}
        for name, kept in catalogs.items():
            if kept.problem or not kept.found_at:
                catalogs[name] = await _fetch(gateway, name)
        check_lent(servers, catalogs, tools, COORDINATOR_NAME)
    except Refused as error:
        raise ApiError(UNPROCESSABLE, str(error)) from None


async def _fetch(gateway: Gateway, name: str) -> ToolCatalog:
    try:
        listed = await gateway.bus.ask(
            tools_address(name),
            ListTools(afresh=True),
            ToolsListed,
            within_seconds=gateway.config.mcp.start_seconds + SLACK_SECONDS,
        )
    except ApiError as error:
        return ToolCatalog(server=name, problem=f"server '{name}': {error.detail}")
    return listed.catalog


def _stored(gateway: Gateway, name: str) -> ToolCatalog:
    kept = read_catalog(gateway.home.system.tools / f"{name}.json")
    if kept is None or kept.settings != fingerprint(gateway.config.mcp.servers[name]):
        return ToolCatalog(server=name)
    return kept


def _view(config: Config, name: str, state: str, catalog: ToolCatalog) -> ToolServerView:
    settings = config.mcp.servers[name]
    return ToolServerView(
        name=name,
        address=tools_address(name),
        state=UNUSABLE if catalog.problem else state if catalog.found_at else NEVER_ASKED,
        reached_by="url" if settings.url else "command",
        grant=settings.grant,
        lend=settings.lend,
        tools=tuple(ServedToolView.model_validate(dict(tool)) for tool in catalog.tools),
        left_out=in_words(catalog.left_out),
        title=catalog.title,
        problem="; it said: ".join(filter(None, (catalog.problem, catalog.said))),
        found_at=catalog.found_at or None,
    )
