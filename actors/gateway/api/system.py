"""Endpoints: processes, models, money, consoles, health."""

import os

from fastapi import APIRouter

from actors.gateway.api.dependencies import CauseDep, GatewayDep
from actors.gateway.auth.scopes import CONTROL, READ
from agiraph import __version__
from agiraph.core.ids import BROKER, SUPERVISOR
from agiraph.http.api import (
    ConsoleTicketView,
    DeadLetterView,
    HealthView,
    ModelsView,
)
from agiraph.messages.child import AttachConsole, AttachTicket
from agiraph.messages.control import RetryLetter
from agiraph.messages.model import ListModels, ModelCatalog

router = APIRouter()


@router.get("/health", dependencies=[READ], tags=["system"])
async def health(gateway: GatewayDep) -> HealthView:
    """Say who answers here."""
    return HealthView(
        version=__version__,
        home=str(gateway.home.path),
        pid=os.getpid(),
        agents=len(gateway.agents.all()),
        open_questions=len(gateway.questions.open()),
    )


@router.get("/models", dependencies=[READ], tags=["system"])
async def models(gateway: GatewayDep) -> ModelsView:
    """List the providers and which of them are usable."""
    catalog = await gateway.ask(BROKER, ListModels(), ModelCatalog)
    return ModelsView(providers=catalog.providers, default=catalog.default)


@router.post("/consoles", dependencies=[CONTROL], tags=["system"], status_code=201)
async def attach(gateway: GatewayDep) -> ConsoleTicketView:
    """Hand out what a console needs to join the bus."""
    ticket = await gateway.ask(SUPERVISOR, AttachConsole(), AttachTicket)
    return ConsoleTicketView(
        address=ticket.address,
        incarnation=ticket.incarnation,
        ticket=ticket.ticket.hex(),
        router_url=ticket.router_url,
    )


@router.get("/dead", dependencies=[READ], tags=["dead"])
async def dead(gateway: GatewayDep) -> list[DeadLetterView]:
    """List the messages that ended their receiver again and again, oldest first."""
    return gateway.dead_letters.views()


@router.post("/dead/{letter}/retry", dependencies=[CONTROL], tags=["dead"])
async def retry(letter: str, gateway: GatewayDep, cause: CauseDep) -> DeadLetterView:
    """Send a message back to its receiver; 404 lists the known."""
    if (before := gateway.dead_letters.sent_by(cause.id)) is not None:
        return before
    found = gateway.dead_letters.find(letter)
    id = cause.message(f"retry of {letter}")
    await gateway.send(found.to, RetryLetter(letter=found), id=id)
    return gateway.dead_letters.sent_back(letter, cause.id)
