"""Attaching a console: a ticket from the gateway, an endpoint on the bus, a session, goodbye."""

import asyncio
import sys
from collections.abc import Callable

from actors.console.desk import Desk
from actors.console.keyboard import Keyboard
from actors.console.seat import HELLO_SECONDS, attach
from actors.console.session import Session, Show
from agiraph.api import AgentSummary
from agiraph.client import Client
from agiraph.errors import Unavailable
from transport.errors import TransportError


def converse(
    connect: Callable[[], Client], agent: AgentSummary, show: Show, linger_seconds: float
) -> None:
    """Hold one console session on stdin; returns when the person leaves.

    Raises NotReachable and ApiError from the API, Unavailable when the bus is lost.
    """
    try:
        asyncio.run(_converse(connect, agent, show, linger_seconds))
    except TransportError as error:
        raise Unavailable(f"the console lost the bus: {error}") from error


async def _converse(
    connect: Callable[[], Client], agent: AgentSummary, show: Show, linger_seconds: float
) -> None:
    desk = Desk(connect)
    keyboard = Keyboard(sys.stdin.fileno())
    try:
        endpoint = attach(await desk.ask(lambda client: client.attach_console()))
        try:
            await endpoint.start(HELLO_SECONDS)
            keyboard.start()
            await Session(agent, desk, endpoint, keyboard, show).run(linger_seconds)
        finally:
            await endpoint.close()
    finally:
        keyboard.close()
        desk.close()
