"""The router's process: imports little, holds no secret but the key of the tickets, and routes."""

import signal
import sys
from types import FrameType

from actors.launch import Launch
from transport.errors import BindRefused
from transport.mailboxes import MemoryMailboxes
from transport.router import Router

BAD_CONFIG = 64


def main(launch: Launch) -> int:
    """Route until SIGTERM, SIGINT or the supervisor's `control.stop`; return the exit code."""
    key = launch.args.get("key")
    if not isinstance(key, bytes) or not key:
        print("the router needs its key", file=sys.stderr)
        return BAD_CONFIG
    router = Router(launch.router_url, key, MemoryMailboxes())

    def stop(signum: int, frame: FrameType | None) -> None:
        router.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.set_wakeup_fd(router.wake_fd, warn_on_full_buffer=False)
    try:
        router.bind()
        router.run()
    except BindRefused as error:
        print(error, file=sys.stderr)
        return BAD_CONFIG
    finally:
        signal.set_wakeup_fd(-1)
        router.close()
    return 0
