"""Attaching a console: a ticket from the gateway, an endpoint on the bus, a session, goodbye."""

import asyncio
import sys
from collections.abc import Callable

from agiraph.core.errors import Unavailable
from agiraph.http.api import AgentView
from agiraph.http.client import Client
from cli.console.client_thread import ClientThread
from cli.console.console_endpoint import HELLO_SECONDS, attach
from cli.console.line_reader import LineReader
from cli.console.session import ConsoleSession, Show
from transport.errors import TransportError


def converse(
    connect: Callable[[], Client], agent: AgentView, show: Show, linger_seconds: float
) -> None:
    """Hold one console session on stdin; returns when the person leaves.

    Raises NotReachable and ApiError from the API, Unavailable when the bus is lost.
    """
    try:
        asyncio.run(_converse(connect, agent, show, linger_seconds))
    except TransportError as error:
        raise Unavailable(f"the console lost the bus: {error}") from error


async def _converse(
    connect: Callable[[], Client], agent: AgentView, show: Show, linger_seconds: float
) -> None:
    desk = ClientThread(connect)
    keyboard = LineReader(sys.stdin.fileno())
    try:
        endpoint = attach(await desk.ask(lambda client: client.attach_console()))
        try:
            await endpoint.start(HELLO_SECONDS)
            keyboard.start()
            await ConsoleSession(agent, desk, endpoint, keyboard, show).run(linger_seconds)
        finally:
            await endpoint.close()
    finally:
        keyboard.close()
        desk.close()
