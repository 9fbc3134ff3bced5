"""RawService: an HTTP service on loopback that sends exactly the bytes that a test provides.

For answers that no well-behaved server sends: compressed bombs, endless lines, redirects, dripping
bodies.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

EVENTS = "text/event-stream"


@dataclass(frozen=True)
class RawAnswer:
    """One answer; its body ends with the connection, so that its length is not announced."""

    pieces: Iterable[bytes] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": EVENTS})


@dataclass(frozen=True)
class RawRequest:
    """One received request. `number` counts from 0."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Answering = Callable[[RawRequest], RawAnswer]


class RawService:
    """Answers every request with `answering`; a context manager. `closing` is set at its end."""

    def __init__(self, answering: Answering) -> None:
        self.answering = answering
        self.requests: list[RawRequest] = []
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        """The service's root URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                self._answer()

            def do_POST(self) -> None:
                self._answer()

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                with service._lock:
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    seen = RawRequest(len(service.requests), self.command, self.path, headers, body)
                    service.requests.append(seen)
                answer = service.answering(seen)
                try:
                    self.send_response(answer.status)
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    for piece in answer.pieces:
                        self.wfile.write(piece)
                        self.wfile.flush()
                except OSError:
                    pass  # the client has closed the connection
                self.close_connection = True

        return Handler
