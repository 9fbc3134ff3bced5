"""HTTP byte by byte: requests that no well-behaved client sends."""

import socket
from urllib.parse import urlsplit

DEADLINE_SECONDS = 60.0


class RawConnection:
    """One connection to a gateway. Use it as a context manager."""

    def __init__(self, url: str, *, receive_bytes: int | None = None) -> None:
        """Connect; `receive_bytes` is the receive buffer of a client that does not read."""
        place = urlsplit(url)
        assert place.hostname is not None
        self.socket = socket.socket()
        self.socket.settimeout(DEADLINE_SECONDS)
        if receive_bytes is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.connect((place.hostname, place.port))
        self.host = place.netloc

    def send(self, *lines: str | bytes, host: bool = True) -> None:
        """Send the lines of a head, its end included; a Host of ours is added as the second."""
        head = [line.encode("latin-1") if isinstance(line, str) else line for line in lines]
        if host:
            head.insert(1, b"Host: " + self.host.encode())
        self.socket.sendall(b"\r\n".join(head) + b"\r\n\r\n")

    def rest(self) -> bytes:
        """Return everything until the other side closes the connection."""
        pieces = []
        try:
            while piece := self.socket.recv(65536):
                pieces.append(piece)
        except ConnectionResetError:
            pass
        return b"".join(pieces)

    def status(self) -> int:
        """Return the status of an answer, whose connection ends with it."""
        said = self.rest()
        return int(said.split()[1]) if said else 0

    def __enter__(self) -> "RawConnection":
        """Return the connection."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the connection."""
        self.socket.close()


def ask(url: str, token: str, target: str, *more: str, method: str = "GET") -> tuple[int, bytes]:
    """Return status and body of one call whose target is sent unchanged."""
    with RawConnection(url) as raw:
        raw.send(
            f"{method} {target} HTTP/1.1",
            *(f"Authorization: Bearer {token}", "Connection: close", *more),
        )
        said = raw.rest()
    head, _, body = said.partition(b"\r\n\r\n")
    return (int(head.split()[1]) if head else 0), body
