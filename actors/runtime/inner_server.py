"""uvicorn inside an actor's own loop; imports uvicorn, so only who serves imports this."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn


class InnerServer(uvicorn.Server):
    """A uvicorn that leaves signals alone and says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        """Serve as `config` says, once started."""
        super().__init__(config)
        self.listening = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install nothing: the actor's runtime has the signals."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        self.listening.set()
