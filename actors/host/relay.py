"""The relay's process: carries the frames of all processes of a host, and watches the host's.

It reads its settings, and then the host's deadlines, from a pipe; it ends when the pipe is closed.
"""

import os
import signal
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import msgpack

from actors.runtime.child import set_title
from actors.runtime.linux import die_with_parent, hide_environment
from actors.supervisor.processes.interpreters import PASSED_FD, start_relay
from transport.errors import BindRefused
from transport.relay import Relay
from transport.sockets import UplinkTarget
from transport.watchdog import Watchdog, pack_deadline

BAD_CONFIG = 64
LENGTH = struct.Struct("=I")


@dataclass(slots=True)
class RelayProcess:
    """The relay as its host sees it; the code that starts it also waits for it (`pid`)."""

    pid: int
    _pipe: int

    @classmethod
    def start(
        cls, url: str, target: UplinkTarget, environ: Mapping[str, str], log: Path | None
    ) -> "RelayProcess":
        """Start a relay that listens at `url` and dies with this process. Raises OSError."""
        pid, pipe = start_relay(environ, log)
        settings = {"url": url, "parent": os.getpid(), "target": asdict(target)}
        packed: bytes = msgpack.packb(settings)
        os.write(pipe, LENGTH.pack(len(packed)) + packed)
        os.set_blocking(pipe, False)
        return cls(pid, pipe)

    def allow_until(self, until: float) -> None:
        """Let the relay kill this process at `until` (`steady_seconds`), unless called again."""
        with suppress(BlockingIOError, BrokenPipeError):  # it hangs or has ended: we continue
            os.write(self._pipe, pack_deadline(until))

    def close(self) -> None:
        """Close the pipe, which ends the relay."""
        os.close(self._pipe)


def main() -> int:
    """Pass frames until the host is gone or SIGTERM; return the exit code."""
    die_with_parent()
    hide_environment()
    set_title("agiraph: relay")
    settings = _read_settings(PASSED_FD)
    if settings is None or os.getppid() != settings["parent"]:
        return 0  # the host has gone already
    watchdog = Watchdog(PASSED_FD, settings["parent"])
    target = UplinkTarget(**settings["target"])
    relay = Relay(settings["url"], target, watchdog=watchdog, log=log)

    def stop(signum: int, frame: FrameType | None) -> None:
        relay.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        relay.bind()
        relay.run()
    except BindRefused as error:
        log(str(error))
        return BAD_CONFIG
    finally:
        relay.close()
    return 0


def log(text: str) -> None:
    """Print a line into the log; on a full disk it is lost."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def _read_settings(pipe: int) -> dict[str, Any] | None:
    head = _read_exactly(pipe, LENGTH.size)
    return msgpack.unpackb(_read_exactly(pipe, LENGTH.unpack(head)[0])) if head else None


def _read_exactly(pipe: int, size: int) -> bytes:
    """Return the next `size` bytes of a pipe, b'' if the pipe ends before."""
    data = b""
    while len(data) < size:
        part = os.read(pipe, size - len(data))
        if not part:
            return b""
        data += part
    return data
