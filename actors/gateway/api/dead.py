"""Endpoints of the dead letters: which messages were set aside, and sending one back."""

from fastapi import APIRouter

from actors.gateway.api.dependencies import CauseDep, GatewayDep
from actors.gateway.bus_client import as_api_error
from agiraph.http.api import DeadLetterView
from agiraph.messages import RetryLetter
from transport.errors import TransportError

router = APIRouter(tags=["dead"])


@router.get("/dead")
async def dead(gateway: GatewayDep) -> list[DeadLetterView]:
    """List the messages that ended their receiver again and again, oldest first."""
    return gateway.dead.views()


@router.post("/dead/{letter}/retry")
async def retry(letter: str, gateway: GatewayDep, cause: CauseDep) -> DeadLetterView:
    """Send a message back to its receiver; 404 lists the known."""
    if (before := gateway.dead.sent_by(cause.id)) is not None:
        return before
    found = gateway.dead.find(letter)
    id = cause.message(f"retry of {letter}")
    try:
        await gateway.line.send(found.to, RetryLetter(letter=found), id=id)
    except TransportError as error:
        raise as_api_error(error, found.to) from error
    return gateway.dead.sent_back(letter, cause.id)
