"""Where a run happens: on the supervisor of its home, or on one started for the run."""

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agiraph.core.errors import Unavailable
from agiraph.http.api import (
    AgentView,
    ApiError,
    CreateAgentRequest,
    GatewayAway,
    NotReachable,
    StartRunRequest,
)
from agiraph.http.discovery import is_held
from agiraph.storage.disk_space import has_room
from agiraph.storage.home import Home, default_home
from cli.options import cli_context, connect
from cli.own_supervisor import OwnSupervisor, SupervisorFailed
from cli.screen import TerminalScreen, can_prompt
from cli.watch import RunWatcher, answer_command

if TYPE_CHECKING:
    from agiraph.http.client import Client

SETTLE_SECONDS: Final = 20.0
RETRY_SECONDS: Final = 0.2
SERVER_ERROR: Final = 500


@dataclass(slots=True)
class RunTarget:
    """Where a run happens: a client, and the supervisor if we started it."""

    home: Path
    client: "Client"
    own: OwnSupervisor | None
    screen: TerminalScreen

    def begin(
        self, request: CreateAgentRequest | StartRunRequest, agent: str | None = None
    ) -> AgentView:
        """Create an agent, or give `agent` a further goal.

        The request is repeated, with the same `run`, if the gateway dies meanwhile.
        """
        give_up_at = time.monotonic() + SETTLE_SECONDS
        while True:
            try:
                if isinstance(request, CreateAgentRequest):
                    return self.client.create_agent(request)
                assert agent is not None
                return self.client.begin_run(agent, request)
            except NotReachable:
                self.check_supervisor()
                self._reconnect(give_up_at)

    def _reconnect(self, give_up_at: float) -> None:
        """Reach the gateway of this home again; NotReachable when it does not come back."""
        while True:
            try:
                client = connect(self.home, patience_seconds=0)
                client.health()
            except NotReachable:
                if time.monotonic() > give_up_at or not is_held(self.home):
                    raise
                time.sleep(RETRY_SECONDS)
                continue
            self.client.close()
            self.client = client
            return

    def watch(self, agent: AgentView) -> RunWatcher:
        """Return a watcher of an agent."""
        return RunWatcher(
            self.client,
            lambda: connect(self.home, patience_seconds=0),
            agent,
            self.screen,
            can_prompt=can_prompt(),
            answer_command=answer_command(self.home, default_home()),
            check_supervisor=self.check_supervisor,
            home=self.home,
        )

    def check_supervisor(self) -> None:
        """Raise SupervisorFailed if our own supervisor has exited."""
        if self.own is not None and self.own.has_ended():
            last = self.own.last_lines().rpartition("\n")[2]
            raise SupervisorFailed(f"the supervisor exited during the run: {last}")


@contextlib.contextmanager
def supervised(home: Path, screen: TerminalScreen, model: str = "") -> Iterator[RunTarget]:
    """Yield a target: on the supervisor of this home, or on one started for us.

    `model` is the one that will be called first, as far as it is known.
    """
    try:
        with _target(home, screen, model) as target:
            yield target
    except (Unavailable, ApiError) as error:
        is_our_fault = isinstance(error, ApiError) and error.status < SERVER_ERROR
        if not is_our_fault and _is_full(home):
            raise _full_disk(home) from error
        raise


@contextlib.contextmanager
def _target(home: Path, screen: TerminalScreen, model: str) -> Iterator[RunTarget]:
    try:
        client = connect(home)
    except GatewayAway:
        raise
    except NotReachable:
        with _own_supervisor(home, screen, model) as (client, own):
            yield RunTarget(home, client, own, screen)
        return
    with client:
        yield RunTarget(home, client, None, screen)


def _is_full(home: Path) -> bool:
    """Whether the disk under this home has no room left."""
    return not has_room(next(folder for folder in (home, *home.parents) if folder.is_dir()))


def _full_disk(home: Path) -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(home))


@contextlib.contextmanager
def _own_supervisor(
    home: Path, screen: TerminalScreen, model: str
) -> "Iterator[tuple[Client, OwnSupervisor | None]]":
    _check_settings(home)
    if _is_full(home):
        raise _full_disk(home)
    screen.status("starting a supervisor for this run")
    own = cli_context().supervisor(home)
    try:
        own.start(preload=model)
    except SupervisorFailed:
        other = _another(home)
        if other is None:
            raise
        with other:
            yield other, None
        return
    try:
        with connect(home) as client:
            yield client, own
    finally:
        screen.status("stopping the supervisor")
        own.stop()


def _check_settings(home: Path) -> None:
    """Raise InvalidInput for settings that a supervisor on this home would reject."""
    own = Home(home).config
    if own.exists():
        from agiraph.core.config import load_config

        load_config(own)


def _another(home: Path) -> "Client | None":
    """Return a client of a supervisor that someone else started on this home meanwhile."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while is_held(home) and time.monotonic() < deadline:
        try:
            return connect(home, patience_seconds=0)
        except NotReachable:
            time.sleep(RETRY_SECONDS)
    return None
