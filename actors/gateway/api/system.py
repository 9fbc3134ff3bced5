"""Endpoints: processes, models, money, consoles, health."""

import os

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from actors.gateway.api.dependencies import GatewayDep
from actors.gateway.bus_client import ask_for
from actors.gateway.resources.entities import entity_rows
from actors.gateway.resources.lifecycle import act_on
from actors.gateway.resources.metrics import exposition
from actors.gateway.resources.spending import usage_view
from actors.gateway.resources.tool_servers import server_views
from agiraph import __version__
from agiraph.core.ids import BROKER, SUPERVISOR
from agiraph.core.turns import UsageBy
from agiraph.http.api import (
    ConsoleTicketView,
    EntityAct,
    EntityView,
    HealthView,
    ModelsView,
    SteeredView,
    ToolServerView,
    UsageView,
)
from agiraph.messages import AttachConsole, AttachTicket, ListModels, ModelCatalog

ANSWER_SECONDS = 10.0

router = APIRouter(tags=["system"])


@router.get("/health")
async def health(gateway: GatewayDep) -> HealthView:
    """Say who answers here."""
    return HealthView(
        version=__version__,
        home=str(gateway.home.path),
        pid=os.getpid(),
        agents=len(gateway.agents.all()),
        open_questions=len(gateway.questions.open()),
    )


@router.get("/entities")
async def entities(gateway: GatewayDep) -> tuple[EntityView, ...]:
    """List every process."""
    return await entity_rows(gateway)


@router.post("/entities/{entity:path}/{act}")
async def act(entity: str, act: EntityAct, gateway: GatewayDep) -> SteeredView:
    """Stop, kill, restart, pause or resume one entity or a whole agent."""
    return await act_on(gateway, entity, act)


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(gateway: GatewayDep) -> Response:
    """Return the numbers of this home in the text format of Prometheus."""
    text, kind = await exposition(gateway)
    return Response(text, media_type=kind)


@router.get("/models")
async def models(gateway: GatewayDep) -> ModelsView:
    """List the providers and which of them are usable."""
    catalog = await ask_for(
        gateway.line, BROKER, ListModels(), ModelCatalog, within_seconds=ANSWER_SECONDS
    )
    return ModelsView(providers=catalog.providers, default=catalog.default)


@router.get("/servers")
async def servers(gateway: GatewayDep, afresh: bool = False) -> list[ToolServerView]:
    """List the servers of tools, by name, with what each offers; `afresh` asks them now."""
    return await server_views(gateway, afresh=afresh)


@router.get("/usage")
async def usage(
    gateway: GatewayDep, agent: str | None = None, run: str | None = None, by: UsageBy = "entity"
) -> UsageView:
    """Tell what was spent: by one agent's current run, by another one of it, by all (`run=*`).

    Without an agent: by everything in this home. The rows are of an entity, node, model or day.
    """
    return await usage_view(gateway, agent, run, by)


@router.post("/consoles", status_code=201)
async def attach(gateway: GatewayDep) -> ConsoleTicketView:
    """Hand out what a console needs to join the bus."""
    ticket = await ask_for(
        gateway.line, SUPERVISOR, AttachConsole(), AttachTicket, within_seconds=ANSWER_SECONDS
    )
    return ConsoleTicketView(
        address=ticket.address,
        incarnation=ticket.incarnation,
        ticket=ticket.ticket.hex(),
        router_url=ticket.router_url,
    )
