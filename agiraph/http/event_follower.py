"""Following an agent's events over a WebSocket, through restarts of the gateway, from a cursor."""

import json
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from urllib.parse import urlencode

from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection, connect

from agiraph.core.errors import AgiraphError
from agiraph.core.models import Event
from agiraph.http.discovery import Door
from agiraph.http.errors import ApiError, NotReachable

PATIENCE_SECONDS = 60.0
RETRY_SECONDS = 0.2
OPEN_SECONDS = 5.0
LARGEST_FRAME = 32 * 1024 * 1024


class EventFollower:
    """Events of one agent in order, each once. Iterate over it, or call `next` with a deadline.

    `seq` is the cursor: the last event that was returned. When the connection breaks it is opened
    again from there, at the gateway's current address. Use it as a context manager, or close it.

    `path` is `/agents/{a}/events`, `wanted` the query besides the cursor; `trust` verifies the
    gateway's certificate (None: the known authorities do).
    """

    def __init__(
        self,
        door: Door,
        path: str,
        after: int = 0,
        patience_seconds: float = PATIENCE_SECONDS,
        wanted: Mapping[str, object] | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._wanted = dict(wanted or {})
        self._trust = trust
        self.seq = after
        self._door = door
        self._path = path
        self._patience = patience_seconds
        self._connection: ClientConnection | None = None
        self._lost_at: float | None = None
        self._open_things = ExitStack()

    def next(self, within_seconds: float | None = None) -> Event | None:
        """Return the next event, or None if none came in time (None: wait forever).

        Raises NotReachable if the gateway stays away for `patience_seconds`, ApiError if it
        refuses (404: no such agent).
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
            event = Event.model_validate(json.loads(frame))
            if event.seq > self.seq:
                self.seq = event.seq
                return event

    def __iter__(self) -> Iterator[Event]:
        """Yield events for ever; ends by an error or by leaving the loop."""
        while True:
            event = self.next()
            if event is not None:
                yield event

    def close(self) -> None:
        """Drop the connection; a further `next` makes it again."""
        self._connection = None
        with suppress(ConnectionClosed, OSError):  # it may break while it says goodbye
            self._open_things.close()

    def __enter__(self) -> "EventFollower":
        """Return the follower itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close it."""
        self.close()

    def _connect(self, deadline: float | None) -> ClientConnection | None:
        """Return a connection, None if there is none before the deadline."""
        while True:
            try:
                self._connection = self._open()
                self._lost_at = None
                return self._connection
            except InvalidStatus as refused:
                if refused.response.status_code < 500:
                    raise _denied(refused) from None
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

    def _open(self) -> ClientConnection:
        url, token = self._door()
        query = urlencode({"after": self.seq, **self._wanted}, doseq=True)
        connecting = connect(
            f"ws{url.removeprefix('http')}{self._path}?{query}",
            additional_headers={"Authorization": f"Bearer {token}"},
            open_timeout=OPEN_SECONDS,
            close_timeout=1,
            ssl=self._trust if url.startswith("https:") else None,
            proxy=None,
            max_size=LARGEST_FRAME,
        )
        return self._open_things.enter_context(connecting)


def _denied(error: InvalidStatus) -> ApiError:
    status = error.response.status_code
    try:
        detail = json.loads(error.response.body or b"")["detail"]
    except (ValueError, KeyError, TypeError):
        detail = f"the gateway answered {status}"
    return ApiError(status, str(detail))
