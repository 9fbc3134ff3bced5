"""The router's process: imports little, has no secret but the key of the tickets, and routes.

Its mailboxes are in `{home}/system/mailboxes.db`, which no other process opens.
"""

import signal
import sys
from contextlib import suppress
from types import FrameType

from actors.runtime.launch import ActorLaunch
from transport.errors import BindRefused, NotStored, StoreRefused
from transport.mailbox_file import check_durability
from transport.peers import Topology
from transport.router import Router
from transport.sockets import UplinkSettings
from transport.stored_mailboxes import StoredMailboxes

BAD_CONFIG = 64
NO_SPACE = 74

# The addresses of `agiraph.core.ids`, which this process does not import.
TOPOLOGY = Topology(
    controller="supervisor",
    known=frozenset({"supervisor", "recorder", "broker", "human"}),
    tap="recorder",
    tapped=frozenset({"text"}),  # the recorder writes the messages between entities
    kept_prefixes=("console/", "host/"),
    host_prefix="host/",
    guest_prefix="invite/",
    ungrouped=frozenset({"console", "tools", "host", "invite"}),
    taken={
        "human": ("text", "question.", "knowledge.", "control."),
        "console/": ("text", "control."),
        "recorder": ("event.",),
        "broker": ("door.",),
        "clock": ("trigger.", "control."),
        "supervisor": ("child.", "control."),
    },
)


def main(launch: ActorLaunch) -> int:
    """Route until SIGTERM, SIGINT or the supervisor's `control.stop`; return the exit code."""
    key = launch.args.get("key")
    if not isinstance(key, bytes) or not key:
        print("the router needs its key", file=sys.stderr)
        return BAD_CONFIG
    try:
        mailboxes = open_mailboxes(launch)
    except StoreRefused as error:
        log(str(error))
        return BAD_CONFIG
    except NotStored as error:
        log(str(error))
        return NO_SPACE
    try:
        uplink = uplink_of(launch)
        router = Router(
            launch.router_url, key, mailboxes, topology=TOPOLOGY, uplink=uplink, log=log
        )
        return route(router)
    finally:
        mailboxes.close()


def uplink_of(launch: ActorLaunch) -> UplinkSettings | None:
    """Return the settings for other machines; None if the home has only this machine."""
    uplink = launch.args.get("uplink")
    return UplinkSettings(**uplink) if uplink else None


def open_mailboxes(launch: ActorLaunch) -> StoredMailboxes:
    """Return the mailboxes of the home, as durable as `router.durability` requires.

    Raises StoreRefused, NotStored.
    """
    durability = check_durability(launch.config.get("router", {}).get("durability", "full"))
    path = launch.home / "system" / "mailboxes.db"
    return StoredMailboxes(path, durability=durability, log=log)


def log(text: str) -> None:
    """Print a line into the router's log; on a full disk it is lost."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def route(router: Router) -> int:
    """Run a router until it is stopped; return the exit code."""

    def stop(signum: int, frame: FrameType | None) -> None:
        router.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.set_wakeup_fd(router.wake_fd, warn_on_full_buffer=False)
    try:
        router.bind()
        router.run()
    except BindRefused as error:
        log(str(error))
        return BAD_CONFIG
    finally:
        signal.set_wakeup_fd(-1)
        router.close()
    return 0
