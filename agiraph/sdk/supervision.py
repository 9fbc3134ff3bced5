"""The supervisor for a program: the home's running one, or its own for the length of a block."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agiraph.http.discovery import is_held, read_gateway_address
from agiraph.http.errors import NotReachable
from agiraph.http.own_supervisor import OwnSupervisor, SupervisorFailed, shared_supervisor

START_SECONDS = 30.0
LOOK_SECONDS = 0.1


@contextmanager
def supervised(home: Path, meanwhile: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Use the running supervisor of a home, or start one for the block and stop it afterwards.

    A started supervisor is not stopped while others use it. `meanwhile` is called several times a
    second while it starts, and may raise. Raises SupervisorFailed, NotReachable.
    """
    with shared_supervisor(home) as share:
        if _is_reachable(home, meanwhile):
            share.acquire()  # its file may have been made since
            yield
            return
    own = OwnSupervisor(home)
    try:
        try:
            own.start(meanwhile=meanwhile)
        except SupervisorFailed:
            if not _is_reachable(home, meanwhile):  # else another process has started one
                raise
        yield
    finally:
        own.stop()


def _is_reachable(home: Path, meanwhile: Callable[[], None]) -> bool:
    """Whether a gateway runs on this home; waits while it starts, calling `meanwhile` repeatedly.

    Raises NotReachable if it has not started after START_SECONDS.
    """
    give_up_at = time.monotonic() + START_SECONDS
    while True:
        try:
            read_gateway_address(home)
        except NotReachable:
            if not is_held(home):
                return False
            if time.monotonic() >= give_up_at:
                raise
            meanwhile()
            time.sleep(LOOK_SECONDS)
            continue
        return True
