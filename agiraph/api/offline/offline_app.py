"""The API application of a home without processes: the endpoints read copies of its files."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from agiraph.api.app import GatewayApi
from agiraph.api.auth.credentials import Principal
from agiraph.api.gateway import Gateway
from agiraph.api.offline.stored_services import StoredServices
from agiraph.knowledge.database import KnowledgeDatabase
from agiraph.readmodel.home_copy import copied
from agiraph.settings.config import Config

READER: Final = Principal("reader", "read")
"""The caller: an endpoint that needs another scope than `read` is refused (403)."""


@contextmanager
def offline_api(home: Path, config: Config) -> Iterator[ASGIApp]:
    """Yield the API of a home without a supervisor, with the scope `read`.

    The home is not written, and need not exist. Raises HomeHeld if a supervisor runs on it,
    Corrupt, OSError.
    """
    with copied(home) as files, closing(StoredServices(files, config)) as services:
        knowledge = KnowledgeDatabase(files.copied_knowledge, files.copy_knowledge)
        with files.opening():
            gateway = Gateway(services, knowledge)
        with closing(gateway):
            yield _admitting(gateway)


def _admitting(gateway: Gateway) -> ASGIApp:
    """Return the endpoints of the API without middleware; every call has the caller READER."""
    app = GatewayApi()
    app.state.gateway = gateway

    async def admit(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["caller"] = READER
        await app(scope, receive, send)

    return admit
