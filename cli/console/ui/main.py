"""Start the screens on the terminal: a console on one agent, or `top` on all entities."""

import os
from collections.abc import Callable

from agiraph.core.ids import COORDINATOR_NAME
from agiraph.core.naming import meant
from agiraph.http.api import AgentView
from agiraph.http.client import Client
from cli.console.commands import EVERYONE
from cli.console.ui.app import ConsoleApp
from cli.console.ui.source import ConsoleSource, TopSource
from cli.console.ui.state import ConsoleState
from cli.console.ui.top_app import TopApp


def show_console(
    connect: Callable[[], Client], agent: AgentView, entity: str | None = None
) -> None:
    """Show the console until the person leaves. Raises NotReachable, InvalidInput at the start."""
    with connect() as client:
        state = ConsoleState(agent, selected=_key_of(client, agent, entity))
        source = ConsoleSource(connect, state, has_bus=not client.is_elsewhere)
    ConsoleApp(source, state, is_colourless=_is_colourless()).run()


def show_top(
    connect: Callable[[], Client], agent: str | None, sort: str, every_seconds: float
) -> None:
    """Show `top` until the person leaves; an opened entity shows the console meanwhile."""
    while True:
        app = TopApp(
            TopSource(connect),
            agent=agent,
            sort=sort,
            every_seconds=every_seconds,
            is_colourless=_is_colourless(),
        )
        opened = app.run()
        if opened is None:
            return
        sort = app.sort_by
        with connect() as client:
            chosen = client.agent(opened.partition("/")[0])
        show_console(connect, chosen, opened)


def _is_colourless() -> bool:
    """Whether the person requested no colours (https://no-color.org)."""
    return "NO_COLOR" in os.environ


def _key_of(client: Client, agent: AgentView, entity: str | None) -> str:
    """Return the key of the entity that `entity` names: by name, id or address."""
    named = (entity or COORDINATOR_NAME).removeprefix(f"{agent.id}/")
    if named in (COORDINATOR_NAME, EVERYONE):
        return named
    workers = client.workers(agent.id)
    keys = {worker.name: worker.id for worker in workers} | {one.id: one.id for one in workers}
    known = [*(worker.name for worker in workers), COORDINATOR_NAME, EVERYONE]
    return meant("entity", named, [*keys.items(), (COORDINATOR_NAME, COORDINATOR_NAME)], str, known)
