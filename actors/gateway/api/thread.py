"""Endpoints: the thread with an agent, by pages and live."""

from collections.abc import AsyncIterator, Iterable
from typing import Annotated

from fastapi import APIRouter, Depends, Query, WebSocket

from actors.gateway.api.dependencies import (
    After,
    AgentDep,
    Before,
    GatewayDep,
    Limit,
    Search,
)
from actors.gateway.api.events import entity_meant
from actors.gateway.gateway import Gateway
from actors.gateway.live.event_feed import follow
from actors.gateway.live.feeds import Feed, Goodbye, send_feed
from agiraph.api.auth.scopes import READ
from agiraph.api.strict_json import StrictRoute
from agiraph.core.models import Agent, Event
from agiraph.http.api import ThreadEntryView, ThreadKind, ThreadPageView
from agiraph.logs.event_log import EventLog
from agiraph.readmodel.thread import ThreadFilter, numbered, thread_before, thread_page

router = APIRouter(route_class=StrictRoute, tags=["conversation"])


async def _wanted(
    agent: AgentDep,
    gateway: GatewayDep,
    entity: Annotated[
        str | None, Query(description="Only the conversation with this one of the team.")
    ] = None,
    kind: Annotated[list[ThreadKind] | None, Query(description="Only entries of these.")] = None,
    search: Search = "",
) -> ThreadFilter:
    if entity is not None:
        board = gateway.boards.get(gateway.agents.run_of(agent))
        entity = entity_meant(agent, board, entity)
    return ThreadFilter(entity, frozenset(kind or ()), search)


Wanted = Annotated[ThreadFilter, Depends(_wanted)]


@router.get("/agents/{agent}/thread", dependencies=[READ])
async def page(
    agent: AgentDep,
    gateway: GatewayDep,
    wanted: Wanted,
    after: After = 0,
    before: Before = None,
    limit: Limit = 100,
) -> ThreadPageView:
    """Page through all that was said and done, backwards with `before`, or what changed `after`.

    A page may be empty although `previous` or `next` leads to more: a page looks at a part of the
    log at most. The same path as a WebSocket sends each entry as it comes and changes.
    """
    found = thread_page(gateway.agents.events_of(agent), after, limit, before, wanted)
    return found.model_copy(update={"entries": tuple(_numbered(gateway, found.entries))})


@router.websocket("/agents/{agent}/thread", dependencies=[READ])
async def live(
    socket: WebSocket, agent: AgentDep, gateway: GatewayDep, wanted: Wanted, after: After = 0
) -> None:
    """Send the entries that changed after an event, then each as it comes and changes."""
    gateway.check_follower()
    log = gateway.agents.events_of(agent)
    log.page(after, 1)
    feed = _feed(gateway, agent, log, after, wanted)

    def too_slow(last: ThreadEntryView | None) -> str:
        return f"too slow: come back with after={last.changed if last else after}"

    await send_feed(socket, feed, lambda entry: entry.model_dump_json(by_alias=True), too_slow)


def _numbered(gateway: Gateway, entries: Iterable[ThreadEntryView]) -> list[ThreadEntryView]:
    listed = list(entries)
    return numbered(listed, gateway.messages.numbers([entry.id for entry in listed]))


async def _feed(
    gateway: Gateway, agent: Agent, log: EventLog, after: int, wanted: ThreadFilter
) -> AsyncIterator[list[ThreadEntryView] | Goodbye]:
    thread = thread_before(log, after + 1)
    events: Feed[Event] = follow(log, gateway.signals, agent.id, after)
    async for batch in events:
        if isinstance(batch, Goodbye):
            yield batch
            return
        changed = sorted(thread.add_all(batch), key=lambda entry: entry.changed)
        yield _numbered(gateway, filter(wanted.takes, changed))
