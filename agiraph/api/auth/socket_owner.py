"""Lookup of the user of this machine that owns the other end of a TCP connection (Linux).

The kernel lists this machine's sockets with their owners in /proc/net/tcp and tcp6. Addresses are
hexadecimal there, each word of four bytes in the machine's own byte order.
"""

import ipaddress
import sys
from contextlib import suppress
from typing import Final

TABLES: Final = {4: "/proc/net/tcp", 6: "/proc/net/tcp6"}
ESTABLISHED: Final = "01"
LOCAL, REMOTE, STATE, USER = 1, 2, 3, 7

Place = tuple[str, int]
"""An IP address and a port."""


def owner_of(client: Place, server: Place) -> int | None:
    """Return the id of the user that owns the client's end of a connection to `server`.

    None if the client is on another machine, or its user is unknown.
    """
    with suppress(OSError, ValueError):
        version = ipaddress.ip_address(client[0]).version
        local, remote = _written(client), _written(server)
        with open(TABLES[version]) as table:  # plain: /proc
            for row in map(str.split, table):
                if row[LOCAL] == local and row[REMOTE] == remote and row[STATE] == ESTABLISHED:
                    return int(row[USER])
    return None


def _written(place: Place) -> str:
    packed = ipaddress.ip_address(place[0]).packed
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    shown = (int.from_bytes(word, sys.byteorder).to_bytes(4, "big").hex() for word in words)
    return f"{''.join(shown).upper()}:{place[1]:04X}"
