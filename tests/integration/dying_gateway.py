"""A gateway for tests that kills itself (kill -9) after a call and before its answer.

It dies whenever `{home}/die` contains the path of the call that it is about to answer, and removes
that file first.
"""

import os
import signal
from pathlib import Path

from actors.gateway.main import main as serve
from actors.runtime.kinds import KINDS
from actors.runtime.launch import ActorLaunch
from agiraph.api.idempotency import IdempotencyMiddleware


def order_file(home: Path) -> Path:
    """Return the file that names the call after which the gateway kills itself."""
    return home / "die"


def main(launch: ActorLaunch) -> int:
    """Run the gateway, which checks the file before each answer."""
    order = order_file(launch.home)
    store = IdempotencyMiddleware._store

    def die_or_store(
        self: IdempotencyMiddleware, key: str, path: str, answer: list[object]
    ) -> None:
        if order.exists() and order.read_text() == path:
            order.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        store(self, key, path, answer)  # type: ignore[arg-type]

    IdempotencyMiddleware._store = die_or_store  # type: ignore[method-assign,assignment]
    return serve(launch)


def supervise() -> None:
    """Run a supervisor with this gateway in place of the real one."""
    from tests.fakes.interpreters import supervise as run

    run({**KINDS, "human": "tests.integration.dying_gateway:main"})
