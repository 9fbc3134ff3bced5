"""The supervisor that a program works on: that of its home, or one of its own for as long."""

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
    """Have a supervisor on a home: the one that runs, else one that is started and taken away.

    It is not taken away while others use it. `meanwhile` is called several times a second while one
    starts, and may raise. Raises SupervisorFailed, NotReachable.
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
            if not _is_reachable(home, meanwhile):  # else somebody has started one meanwhile
                raise
        yield
    finally:
        own.stop()


def _is_reachable(home: Path, meanwhile: Callable[[], None]) -> bool:
    """Whether a gateway runs on this home; waits for one that starts. Raises NotReachable."""
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
