"""A receiver of webhooks on this machine: stores the posts, and answers with given statuses."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

DEADLINE_SECONDS = 60.0


@dataclass(frozen=True)
class ReceivedPost:
    """One request: its path, headers (lower case) and body."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object."""
        value: dict[str, Any] = json.loads(self.body)
        return value


class WebhookServer:
    """Answers the first posts with `statuses`, all others with 200. Status 0: never answers."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.posts: list[ReceivedPost] = []
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        """Return the URL for posts."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/hook"

    def take(self, post: ReceivedPost) -> int:
        """Store a post and return the status to answer with."""
        with self._changed:
            self.posts.append(post)
            status = self.statuses.pop(0) if self.statuses else 200
            self._changed.notify_all()
        if status == 0:
            self._closing.wait(DEADLINE_SECONDS)
        return status or 503

    def until(self, is_so: Callable[[list[ReceivedPost]], bool]) -> list[ReceivedPost]:
        """Wait until `is_so` accepts the posts, and return them."""
        with self._changed:
            is_done = self._changed.wait_for(lambda: is_so(self.posts), DEADLINE_SECONDS)
            assert is_done, [post.body for post in self.posts]
            return list(self.posts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _handler(hook: WebhookServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status = hook.take(ReceivedPost(self.path, headers, body))
            try:
                self.send_response(status)
                self.send_header("content-length", "0")
                if status in (301, 302, 307):
                    self.send_header("location", f"{hook.url}/elsewhere")
                self.end_headers()
            except OSError:
                pass  # the client has stopped waiting

        def log_message(self, *_args: object) -> None:
            pass

    return Handler
