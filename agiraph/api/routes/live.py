"""Endpoints for changes in the home and for texts that models are writing."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Header, Response, WebSocket
from pydantic import BaseModel

from agiraph.api.auth.scopes import READ
from agiraph.api.gateway import Gateway
from agiraph.api.live.changes import Subject
from agiraph.api.live.feeds import MEDIA_TYPE, Feed, send_feed, streamed
from agiraph.api.routes.dependencies import AgentDep, GatewayDep
from agiraph.api.routes.entities import shown_activity
from agiraph.api.routes.events import entity_meant
from agiraph.api.strict_json import StrictRoute
from agiraph.core.errors import Corrupt
from agiraph.core.ids import (
    COORDINATOR_NAME,
    AgentId,
    WorkerId,
    agent_of,
    coordinator_address,
)
from agiraph.core.models import Agent
from agiraph.http.api import (
    AgentChangeView,
    ChangeView,
    EntityChangeView,
    HomeView,
    InboxChangeView,
    QuestionChangeView,
    StreamedTextView,
)
from agiraph.http.errors import ApiError
from agiraph.messages.model import StreamDelta
from agiraph.readmodel.statuses import StatusReader

router = APIRouter(route_class=StrictRoute, tags=["live"])

TOO_SLOW = "too slow: come back"

# --- changes ---


@router.get(
    "/changes",
    dependencies=[READ],
    response_model=HomeView,
    responses={
        200: {
            "description": "Where everything is; a stream without end for `text/event-stream`.",
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ChangeView"}}},
        }
    },
)
async def changes(
    gateway: GatewayDep, accept: Annotated[str, Header(include_in_schema=False)] = ""
) -> HomeView | Response:
    """Show the state of the home, or follow its changes.

    With `Accept: text/event-stream` the state is followed by a `Change` for each changed subject;
    the same path as a WebSocket sends the same.
    """
    if MEDIA_TYPE not in accept:
        return _home(gateway)
    gateway.check_follower()
    return streamed(_changes(gateway), _lines_of)


@router.websocket("/changes", dependencies=[READ])
async def follow_changes(socket: WebSocket, gateway: GatewayDep) -> None:
    """Send the state of the home, then its changes."""
    gateway.check_follower()
    await send_feed(socket, _changes(gateway), BaseModel.model_dump_json, lambda _: TOO_SLOW)


def _changes(gateway: Gateway) -> Feed[ChangeView]:
    return gateway.changes.follow(
        lambda: _home(gateway), lambda subjects: _shown(gateway, subjects)
    )


def _lines_of(change: ChangeView) -> str:
    return f"event: {change.kind}\ndata: {change.model_dump_json()}"


def _home(gateway: Gateway) -> HomeView:
    agents = gateway.agents.all()
    unread = {agent.id: sum(gateway.messages.unread(agent.id).values()) for agent in agents}
    return HomeView(
        agents={agent.id: last_event(gateway, agent) for agent in agents},
        messages=gateway.messages.count,
        unread={id: count for id, count in unread.items() if count},
        questions=tuple(question.id for question in gateway.questions.open()),
    )


def last_event(gateway: Gateway, agent: Agent) -> int:
    """Return the number of an agent's last event, 0 if its log cannot be read."""
    with suppress(Corrupt, OSError):
        return gateway.agents.events_of(agent).last()
    return 0


def _shown(gateway: Gateway, subjects: Sequence[Subject]) -> list[ChangeView]:
    statuses = gateway.statuses(())
    changes = (_change(gateway, statuses, subject) for subject in subjects)
    return [change for change in changes if change is not None]


def _change(gateway: Gateway, statuses: StatusReader, subject: Subject) -> ChangeView | None:
    """Return the current state of a subject; None if there is nothing to report."""
    match subject:
        case ("inbox", id):
            unread = gateway.messages.unread(id)
            return InboxChangeView(
                agent=AgentId(id),
                seq=gateway.messages.last(id),
                unread=sum(unread.values()),
                by_entity=unread,
            )
        case ("question", id):
            question = gateway.questions.get(id)
            if question is None:
                return None
            return QuestionChangeView(agent=question.agent, id=question.id, status=question.status)
        case ("entity", address):
            return _entity_change(gateway, statuses, address)
        case (("archived" | "restored" | "deleted") as change, id):
            return AgentChangeView(agent=AgentId(id), change=change)


def _entity_change(
    gateway: Gateway, statuses: StatusReader, address: str
) -> EntityChangeView | None:
    try:
        activity = statuses.activity(address)
    except (ApiError, OSError):
        return None  # its agent's record is damaged: requests for that agent report it
    if activity is None:
        return None
    about = {"agent": agent_of(address), "address": address, "state": activity.state}
    return EntityChangeView.model_validate(about | shown_activity(gateway, statuses, address))


# --- text as it streams ---


@router.websocket("/agents/{agent}/stream", dependencies=[READ])
async def stream(
    socket: WebSocket, agent: AgentDep, gateway: GatewayDep, entity: str | None = None
) -> None:
    """Send the text of the agent's models, or of one entity's model, as it is written."""
    gateway.check_follower()
    board = gateway.boards.get(gateway.agents.run_of(agent))
    wanted = None if entity is None else entity_meant(agent, board, entity)

    def shown(piece: StreamDelta) -> StreamedTextView | None:
        name = _name_of(gateway, agent, piece.entity)
        if wanted not in (None, name):
            return None
        about = {"address": piece.entity, "entity": name, "call": piece.call.hex()}
        return StreamedTextView.model_validate(dict(piece) | about)

    feed = gateway.streams.watch(agent.id, shown)
    await send_feed(socket, feed, BaseModel.model_dump_json, lambda _: TOO_SLOW)


def _name_of(gateway: Gateway, agent: Agent, address: str) -> str:
    """Return the name of an agent's entity; its address while its board does not know it."""
    if address == coordinator_address(agent.id):
        return COORDINATOR_NAME
    now = gateway.agents.get(agent.id) or agent
    with suppress(Corrupt, OSError):
        board = gateway.boards.get(gateway.agents.run_of(now))
        worker = board.workers.get(WorkerId(address.partition("/")[2]))
        return worker.name if worker is not None else address
    return address
