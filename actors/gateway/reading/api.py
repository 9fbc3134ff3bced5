"""The API of a home at rest: the gateway's parts on copies of its files, and nobody on the bus."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from actors.gateway.context.database import ContextDatabase
from actors.gateway.gateway import ANSWER_SECONDS, CONFLICT, UNAVAILABLE, Gateway
from actors.gateway.http.app import GatewayApi
from actors.gateway.reading.services import StoredServices
from actors.runtime.ask_again import Reply
from agiraph.api.auth.credentials import Principal
from agiraph.core.clock import Clock, SystemClock
from agiraph.http.errors import ApiError
from agiraph.logs.log import logger
from agiraph.messages.control import RefusedReply
from agiraph.readmodel.home_copy import CopiedHome, copied
from agiraph.settings.config import Config

if TYPE_CHECKING:
    from actors.runtime.runtime import Runtime

READER: Final = Principal("reader", "read")
"""Who calls: what needs another scope than `read` is refused (403)."""


@dataclass(frozen=True, slots=True)
class _OfflineRuntime:
    """The part of a Runtime that a gateway is made of."""

    home: CopiedHome
    config: Config
    clock: Clock
    log: Any


class OfflineGateway(Gateway):
    """A gateway whose requests are answered from what the services wrote down."""

    def __init__(self, home: CopiedHome, config: Config) -> None:
        clock = SystemClock()
        super().__init__(cast("Runtime", _OfflineRuntime(home, config, clock, logger())))
        self.context = ContextDatabase(home.copied_context, home.copy_context)
        self._services = StoredServices(home, config, clock)

    async def ask(
        self,
        to: str,
        body: BaseModel,
        expect: type[Reply],
        *,
        within_seconds: float = ANSWER_SECONDS,
        refused: int = CONFLICT,
        id: bytes | None = None,
    ) -> Reply:
        """Return what `to` wrote down; ApiError 503 for what only its process can answer."""
        answer = self._services.answer(body)
        if answer is None:
            raise ApiError(UNAVAILABLE, f"{to} does not run")
        if isinstance(answer, RefusedReply):
            raise ApiError(refused, answer.reason)
        assert isinstance(answer, expect)
        return answer

    async def send(self, to: str, body: BaseModel, *, id: bytes) -> None:
        """Raise ApiError 503: nobody takes it."""
        raise ApiError(UNAVAILABLE, f"{to} does not run")

    def close(self) -> None:
        """Close the copies."""
        super().close()
        self._services.close()


@contextmanager
def offline_api(home: Path, config: Config) -> Iterator[ASGIApp]:
    """Yield the API of a home on which no supervisor runs, for a caller who may only read.

    Nothing of the home is written, which need not exist. Raises HomeHeld if a supervisor runs on
    it, Corrupt, OSError.
    """
    with copied(home) as files:
        with files.opening():
            gateway = OfflineGateway(files, config)
        with closing(gateway):
            yield _admitting(gateway)


def _admitting(gateway: Gateway) -> ASGIApp:
    """Return the endpoints without the middleware: the caller is this process."""
    app = GatewayApi()
    app.state.gateway = gateway

    async def admit(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["caller"] = READER
        await app(scope, receive, send)

    return admit
