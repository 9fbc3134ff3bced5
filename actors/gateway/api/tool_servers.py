"""Servers of tools: from what their hosts have written, or asked now."""

import asyncio
from collections.abc import Sequence

from fastapi import APIRouter

from actors.gateway.api.dependencies import GatewayDep
from actors.gateway.api.entities import children
from actors.gateway.auth.scopes import READ
from actors.gateway.gateway import Gateway
from agiraph.core.config import Config
from agiraph.core.errors import Refused
from agiraph.core.ids import COORDINATOR_NAME, tools_address
from agiraph.core.mcp_settings import fingerprint
from agiraph.http.api import (
    ApiError,
    ServedToolView,
    ToolServerView,
)
from agiraph.mcp.catalog import ToolCatalog, read_catalog
from agiraph.mcp.grants import check_lent, wanted_servers
from agiraph.messages.tool import ListTools, ToolsListed

SLACK_SECONDS = 5.0
UNPROCESSABLE = 422
UNUSABLE = "unusable"
NEVER_ASKED = "unknown"

router = APIRouter(tags=["system"])


@router.get("/servers", dependencies=[READ])
async def servers(gateway: GatewayDep, afresh: bool = False) -> list[ToolServerView]:
    """List the MCP servers, by name, with what each offers; `afresh` asks them now."""
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
    """Raise ApiError 422 for a tool that there is not, or that a coordinator cannot have."""
    from agiraph.tools.toolbox import Toolbox  # few who create an agent name its tools

    servers = gateway.config.mcp.servers
    try:
        Toolbox.for_entity("coordinator", tools)
        check_lent(servers, {}, tools, COORDINATOR_NAME)
        catalogs = {name: _stored(gateway, name) for name in wanted_servers(servers, tools)}
        for name, kept in catalogs.items():
            if kept.problem or not kept.found_at:
                catalogs[name] = await _fetch(gateway, name)
        check_lent(servers, catalogs, tools, COORDINATOR_NAME)
    except Refused as error:
        raise ApiError(UNPROCESSABLE, str(error)) from None


async def _fetch(gateway: Gateway, name: str) -> ToolCatalog:
    try:
        listed = await gateway.ask(
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
        tools=tuple(
            ServedToolView(
                name=tool.name, description=tool.description, is_repeatable=tool.is_repeatable
            )
            for tool in catalog.tools
        ),
        title=catalog.title,
        problem=catalog.problem,
        found_at=catalog.found_at or None,
    )
