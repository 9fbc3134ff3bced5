"""Followers over a WebSocket that reconnect when the gateway restarts.

They follow an agent's events from a cursor, changes in the home, or texts of models.
"""

import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from typing import Any, Generic, Self, TypeVar
from urllib.parse import urlencode

from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection, connect

from agiraph.core.errors import AgiraphError
from agiraph.core.json_text import parse_json
from agiraph.http.api.work import EventView
from agiraph.http.discovery import GatewayLookup, has_moved
from agiraph.http.errors import ApiError, NotReachable

PATIENCE_SECONDS = 60.0
RETRY_SECONDS = 0.2
OPEN_SECONDS = 5.0
LARGEST_FRAME = 32 * 1024 * 1024

Item = TypeVar("Item")


class Follower(Generic[Item]):
    """The messages of a WebSocket, decoded by `read`. Iterate over it, or call `next`.

    A broken connection is opened again, at the gateway's current address. Use a follower as a
    context manager, or close it. `wanted` is the query; `trust` verifies the gateway's certificate
    (None: the known authorities do). `read` returns None for messages to skip.
    """

    def __init__(
        self,
        door: GatewayLookup,
        path: str,
        read: Callable[[str | bytes], Item | None],
        patience_seconds: float = PATIENCE_SECONDS,
        wanted: Mapping[str, object] | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._wanted = dict(wanted or {})
        self._read = read
        self._trust = trust
        self._door = door
        self._known = "", ""
        self._path = path
        self._patience = patience_seconds
        self._connection: ClientConnection | None = None
        self._lost_at: float | None = None
        self._open_things = ExitStack()

    def next(self, within_seconds: float | None = None) -> Item | None:
        """Return the next item, or None if none came in time (None: wait forever).

        Raises NotReachable if the gateway stays away for `patience_seconds`, ApiError for a refusal
        (404: unknown agent).
        """
        deadline = None if within_seconds is None else time.monotonic() + within_seconds
        while True:
            connection = self._connection or self._connect(deadline)
            if connection is None:
                return None
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                frame = connection.recv(timeout=left)
            except TimeoutError:
                return None
            except (ConnectionClosed, OSError):
                self.close()
                continue
            item = self._read(frame)
            if item is not None:
                return item

    def __iter__(self) -> Iterator[Item]:
        """Yield items forever, until an error of `next`."""
        while True:
            item = self.next()
            if item is not None:
                yield item

    def close(self) -> None:
        """Close the connection; a further `next` opens it again."""
        self._connection = None
        with suppress(ConnectionClosed, OSError):  # it may break during the closing handshake
            self._open_things.close()

    def __enter__(self) -> Self:
        """Return the follower itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the follower."""
        self.close()

    def _connect(self, deadline: float | None) -> ClientConnection | None:
        """Return an open connection, None if that fails until `deadline` (monotonic seconds).

        Raises NotReachable, ApiError as `next`.
        """
        while True:
            try:
                self._connection = self._open()
                self._lost_at = None
                return self._connection
            except InvalidStatus as refused:
                if (refusal := denied(refused, self._door, self._known)) is not None:
                    raise refusal from None
                reason: Exception = refused
            except (OSError, EOFError, AgiraphError, WebSocketException) as error:
                reason = error
            now = time.monotonic()
            self._lost_at = now if self._lost_at is None else self._lost_at
            if now - self._lost_at >= self._patience:
                raise NotReachable(f"cannot follow {self._path}: {reason}") from reason
            if deadline is not None and now >= deadline:
                return None
            time.sleep(RETRY_SECONDS if deadline is None else min(RETRY_SECONDS, deadline - now))

    def _query(self) -> dict[str, object]:
        return self._wanted

    def _open(self) -> ClientConnection:
        self._known = self._door()
        uri, options = opening(self._known, self._path, self._query(), self._trust)
        connecting: ClientConnection = connect(uri, **options)
        return self._open_things.enter_context(connecting)


class LogFollower(Follower[Item]):
    """Items derived from a log, in order, each once; `seq` is the cursor after the last item.

    `wanted` is the query besides the cursor, `cursor_of` returns the cursor after an item.
    """

    def __init__(
        self,
        door: GatewayLookup,
        path: str,
        made_of: Callable[[str | bytes], Item],
        cursor_of: Callable[[Item], int],
        after: int = 0,
        patience_seconds: float = PATIENCE_SECONDS,
        wanted: Mapping[str, object] | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(door, path, self._item, patience_seconds, wanted, trust)
        self._made_of, self._cursor_of = made_of, cursor_of
        self.seq = after

    def _item(self, frame: str | bytes) -> Item | None:
        item = self._made_of(frame)
        if (seq := self._cursor_of(item)) <= self.seq:
            return None
        self.seq = seq
        return item

    def _query(self) -> dict[str, object]:
        return {"after": self.seq, **self._wanted}


class EventFollower(LogFollower[EventView]):
    """Events of one agent; `path` is `/agents/{a}/events`."""

    def __init__(self, door: GatewayLookup, path: str, after: int = 0, **options: Any) -> None:
        super().__init__(
            door, path, EventView.model_validate_json, lambda event: event.seq, after, **options
        )


def opening(
    known: tuple[str, str], path: str, query: Mapping[str, object], trust: ssl.SSLContext | None
) -> tuple[str, dict[str, Any]]:
    """Return the URI and the connect options of a WebSocket; `known` is the API's URL and token."""
    url, token = known
    return f"ws{url.removeprefix('http')}{path}?{urlencode(query, doseq=True)}", {
        "additional_headers": {"Authorization": f"Bearer {token}"},
        "open_timeout": OPEN_SECONDS,
        "close_timeout": 1,
        "ssl": trust if url.startswith("https:") else None,
        "proxy": None,
        "max_size": LARGEST_FRAME,
    }


def denied(error: InvalidStatus, door: GatewayLookup, known: tuple[str, str]) -> ApiError | None:
    """Return the refusal of a WebSocket; None if the connection should be tried again.

    The gateway may be starting, it may not have received the request in time (408), or another
    program may have answered at the address that was `known`.
    """
    status = error.response.status_code
    if status >= 500 or status == 408 or has_moved(door, *known):
        return None
    try:
        detail = parse_json(error.response.body or b"")["detail"]
    except (ValueError, KeyError, TypeError):
        detail = f"the gateway answered {status}"
    return ApiError(status, str(detail))
