"""Endpoints: processes, models, money, consoles, health."""

import os

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from actors.human.acting import act_on
from actors.human.entities import entity_rows
from actors.human.line import ask_for
from actors.human.metrics import exposition
from actors.human.routes.asking import Door
from actors.human.servers import server_views
from actors.human.spending import usage_view
from agiraph import __version__
from agiraph.api import (
    Acted,
    ConsoleTicket,
    EntityAct,
    EntityRow,
    Health,
    ModelsView,
    ToolServerView,
    UsageView,
)
from agiraph.ids import BROKER, SUPERVISOR
from agiraph.messages import Attach, ListModels, ModelCatalog, Ticket
from agiraph.turns import UsageBy

ANSWER_SECONDS = 10.0

router = APIRouter()


@router.get("/health")
async def health(door: Door) -> Health:
    """Say who answers here."""
    return Health(
        version=__version__,
        home=str(door.home.path),
        pid=os.getpid(),
        agents=len(door.agents.all()),
        open_questions=len(door.questions.open()),
    )


@router.get("/entities")
async def entities(door: Door) -> tuple[EntityRow, ...]:
    """List every process."""
    return await entity_rows(door)


@router.post("/entities/{entity:path}/{act}")
async def act(entity: str, act: EntityAct, door: Door) -> Acted:
    """Stop, kill, restart, pause or resume one entity or a whole agent."""
    return await act_on(door, entity, act)


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(door: Door) -> Response:
    """Return the numbers of this home in the text format of Prometheus."""
    text, kind = await exposition(door)
    return Response(text, media_type=kind)


@router.get("/models")
async def models(door: Door) -> ModelsView:
    """List the providers and which of them are usable."""
    catalog = await ask_for(
        door.line, BROKER, ListModels(), ModelCatalog, within_seconds=ANSWER_SECONDS
    )
    return ModelsView(providers=catalog.providers, default=catalog.default)


@router.get("/servers")
async def servers(door: Door, afresh: bool = False) -> list[ToolServerView]:
    """List the servers of tools, by name, with what each offers; `afresh` asks them now."""
    return await server_views(door, afresh=afresh)


@router.get("/usage")
async def usage(
    door: Door, agent: str | None = None, run: str | None = None, by: UsageBy = "entity"
) -> UsageView:
    """Tell what was spent: by one agent's current run, by another one of it, by all (`run=*`).

    Without an agent: by everything in this home. The rows are of an entity, node, model or day.
    """
    return await usage_view(door, agent, run, by)


@router.post("/consoles", status_code=201)
async def attach(door: Door) -> ConsoleTicket:
    """Hand out what a console needs to join the bus."""
    ticket = await ask_for(door.line, SUPERVISOR, Attach(), Ticket, within_seconds=ANSWER_SECONDS)
    return ConsoleTicket(
        address=ticket.address,
        incarnation=ticket.incarnation,
        ticket=ticket.ticket.hex(),
        router_url=ticket.router_url,
    )
