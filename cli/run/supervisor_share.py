"""A command's share in the supervisor of a home, unless its gateway is elsewhere."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agiraph.http import own_supervisor
from agiraph.http.discovery import is_held
from agiraph.http.errors import GatewayAway, NotReachable
from agiraph.http.own_supervisor import OwnSupervisor, SupervisorFailed
from agiraph.storage.home_users import HomeShare
from cli.options.everywhere import remark
from cli.options.remote import is_elsewhere
from cli.options.shared import cli_context, connect

if TYPE_CHECKING:
    from agiraph.http.client import Client

SETTLE_SECONDS: Final = 20.0
RETRY_SECONDS: Final = 0.2
WAITING: Final = "waiting for a supervisor that is stopping"
STARTING: Final = "starting a supervisor for this command"
STOPPING: Final = "stopping the supervisor"
CONTINUES: Final = "the supervisor continues: another command uses it"


@contextlib.contextmanager
def shared_supervisor(
    home: Path, on_wait: Callable[[], None] = lambda: None
) -> Iterator[HomeShare]:
    """Hold a share in the supervisor of a home; for a home elsewhere do nothing."""
    if is_elsewhere():
        yield HomeShare(home)
        return
    with own_supervisor.shared_supervisor(home, on_wait) as share:
        yield share


@dataclass(frozen=True, slots=True)
class Startup:
    """The callbacks of a command for the start of its own supervisor.

    `check` raises if the supervisor must not be started, `status` shows the current action, `note`
    is called with permanent lines, and `meanwhile` repeatedly during the start.
    """

    check: Callable[[], None] = lambda: None
    status: Callable[[str], None] = lambda text: None
    note: Callable[[str], None] = remark
    meanwhile: Callable[[], None] = lambda: None


@contextlib.contextmanager
def supervised_client(
    home: Path, startup: Startup | None = None
) -> "Iterator[tuple[Client, OwnSupervisor | None]]":
    """Yield a client, and None or the supervisor that was started for the block.

    Raises SupervisorFailed, NotReachable, and the errors of `check`.
    """
    if is_elsewhere():
        with connect(home) as client:
            yield client, None
        return
    startup = startup or Startup()
    with shared_supervisor(home, partial(startup.status, WAITING)) as share:
        if (running := _running(home)) is not None:
            share.acquire()  # its file may have been made since
            with running:
                yield running, None
            return
    with _started(home, startup) as (client, own):
        yield client, own


@contextlib.contextmanager
def connect_or_start(home: Path) -> "Iterator[Client]":
    """Yield a client of the supervisor that runs on a home, or of one started for the block."""
    with supervised_client(home) as (client, _):
        yield client


def _running(home: Path) -> "Client | None":
    try:
        return connect(home)
    except GatewayAway:
        raise
    except NotReachable:
        return None


@contextlib.contextmanager
def _started(home: Path, startup: Startup) -> "Iterator[tuple[Client, OwnSupervisor | None]]":
    startup.check()
    startup.status(STARTING)
    own = cli_context().supervisor(home)
    try:
        try:
            own.start(meanwhile=startup.meanwhile)
        except SupervisorFailed:
            other = _another(home)
            if other is None:
                raise
            with other:
                yield other, None
            return
        with connect(home) as client:
            yield client, own
    finally:
        startup.status(STOPPING)
        if not own.stop():
            startup.note(CONTINUES)


def _another(home: Path) -> "Client | None":
    """Return a client of a supervisor that another process has started on this home, else None."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while is_held(home) and time.monotonic() < deadline:
        try:
            return connect(home, patience_seconds=0)
        except NotReachable:
            time.sleep(RETRY_SECONDS)
    return None
