"""Discovery of the gateway of a home: its address and its token."""

import fcntl
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from agiraph.core.ids import HUMAN
from agiraph.core.json_text import parse_json
from agiraph.http.errors import GatewayAway, NotReachable
from agiraph.storage.disk_space import has_room
from agiraph.storage.files import can_lock, open_folder, read_bytes, read_part
from agiraph.storage.home import Home
from agiraph.storage.walk import UnsafeFile

HIGHEST_PORT = 65535

STOPPED, ENDED = b"Tt", b"ZX"
GatewayLookup = Callable[[], tuple[str, str]]
"""Returns the API's current URL and token. Raises NotReachable."""


TAIL_BYTES: Final = 4096
CAUSE_LIMIT: Final = 1000
NO_CAUSE: Final = re.compile(r"\d{4}-\d\d-\d\dT|Extension modules: ")
"""Lines of the log itself, which begin with a time, and the end of a dump after a fatal signal."""


def read_gateway_address(home: Path) -> tuple[str, str]:
    """Return (url, token) of the gateway that runs on `home`. Raises NotReachable, GatewayAway.

    The token is returned only if the process that wrote the address still lives: an abandoned port
    may belong to another program.
    """
    files = Home(home)
    try:
        address = parse_json(read_bytes(files.human.address, anyones=True))
        url, pid = str(address["url"]), int(address["pid"])
        token = read_bytes(files.system.token, anyones=True).decode("ascii").strip()
    except (OSError, ValueError, KeyError, TypeError):
        raise why_unreachable(home) from None
    if not _lives(pid):
        raise why_unreachable(home)
    return url, token


def read_port(home: Path) -> int | None:
    """Return the port that a home keeps, None before the first start of its gateway."""
    try:
        port = int(read_bytes(Home(home).human.port, anyones=True))
    except (OSError, ValueError):
        return None
    return port if 0 < port <= HIGHEST_PORT else None


def has_moved(door: GatewayLookup, url: str, token: str | None = None) -> bool:
    """Whether the home's gateway no longer listens at this URL, where another program answers.

    That program may be the gateway of another home, which does not know our token. With a `token`,
    also whether that token was rotated.
    """
    try:
        url_now, token_now = door()
    except NotReachable:
        return True
    return url_now.rstrip("/") != url.rstrip("/") or token not in (None, token_now)


def why_unreachable(home: Path) -> NotReachable:
    """Return the error that explains why the gateway of this home does not answer."""
    if not is_supervised(home):
        return NotReachable(f"no supervisor runs on home {home}")
    full = "" if has_room(home) else "; its disk is full"
    return GatewayAway(f"a supervisor runs on home {home}, but its gateway {_state(home)}{full}")


def _state(home: Path) -> str:
    """Return the state of the gateway of a home with a supervisor, as a phrase."""
    try:
        pid = int(parse_json(read_bytes(Home(home).human.address, anyones=True))["pid"])
    except UnsafeFile as error:
        return f"cannot be found: {error}"
    except (OSError, ValueError, KeyError, TypeError):
        return "does not listen yet"
    if not _lives(pid):
        cause = _last_error(home)
        return f"(pid {pid}) has ended and is being restarted{f': {cause}' if cause else ''}"
    return f"(pid {pid}) {'is stopped' if _is_in_state(pid, STOPPED) else 'does not answer'}"


def _last_error(home: Path) -> str:
    """Return the error in the last line of a gateway's log, '' if there is none."""
    from agiraph.core.redaction import redact  # needed by few commands

    log = Home(home).system.logs / f"{HUMAN}.log"
    try:
        _, size = read_part(log, 0, 0, anyones=True)
        tail, _ = read_part(log, max(0, size - TAIL_BYTES), TAIL_BYTES, anyones=True)
    except OSError:
        return ""
    last = tail.decode("utf-8", "replace").rstrip().rpartition("\n")[2]
    return "" if NO_CAUSE.match(last) else str(redact(last.strip()))[:CAUSE_LIMIT]


def _is_in_state(pid: int, states: bytes) -> bool:
    """Whether the process `pid` is in one of the states of proc(5), such as b"TtZ".

    False if unknown.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # plain: /proc
            return file.read().rpartition(b")")[2].split()[0] in states
    except (OSError, IndexError):
        return False


def read_cert(home: Path) -> Path | None:
    """Return the certificate of the gateway of `home`, None if it does not use TLS."""
    try:
        return Path(parse_json(read_bytes(Home(home).human.address, anyones=True))["cert"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_held(home: Path) -> bool:
    """Whether a supervisor has locked this home. Raises OSError if that cannot be determined.

    The supervisor need not be reachable. The check itself locks the home only for a moment.
    """
    try:
        fd = open_folder(Home(home).system.path)
    except FileNotFoundError:
        return False
    try:
        return not can_lock(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


def is_supervised(home: Path) -> bool:
    """Whether a supervisor runs on this home and will restart its gateway; False if unknown."""
    try:
        return is_held(home)
    except OSError:
        return False


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_in_state(pid, ENDED)
