"""FakeModelServer: speaks Anthropic's, both of OpenAI's and Google's wire formats, on loopback.

The real SDKs call it, and real coding agents do.

A scenario gives it a responder and passes its `env()` to the supervisor:

    from tests.fakes.model_server import FakeModelServer, Script, call, calls, say

    script = Script({
        "coordinator": [
            calls(call("spawn_worker", name="ada"), call("spawn_worker", name="bob")),
            calls(
                call("create_work_node", name="facts", task="Write facts.md", worker="ada"),
                call("create_work_node", name="sums", task="Write sums.md", worker="bob"),
            ),
            call("wait"),
            lambda seen: call("finish", summary="All done: " + seen.result("wait")),
        ],
        "ada": [
            call("write_file", path="facts.md", content="one fact"),
            call("publish", summary="one fact found"),
        ],
        "bob": [call("bash", command="echo 4 > sums.md"), call("publish", summary="2 + 2 = 4")],
    })
    with FakeModelServer(script) as server:
        environ = {**os.environ, **server.env()}        # ANTHROPIC_*, OPENAI_* and Gemini's
        ...  # run with --model anthropic/fake, openai/fake, openai-responses/fake, google/fake
        server.wait_for(lambda seen: seen.is_for("ada"))  # blocks until such a request was seen
    assert not server.problems

The system prompt identifies the caller ("You are ada", "You are NAME, the coordinator"), the number
of answers in the conversation the step: a step repeated after a kill -9 gets the same answer, with
the same tool-call ids. Any model name is known except names that begin with `no-such`. A wrong key
is refused with 401. Transcripts that the real API would refuse (unanswered tool calls, empty text)
are refused with 400 and listed in `problems`.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any

from agiraph.core.turns import Usage
from tests.fakes import wire_anthropic, wire_google, wire_openai, wire_responses
from tests.fakes.replies import (
    Call,
    Reply,
    Responder,
    Script,
    SeenRequest,
    call,
    calls,
    cut,
    rate_limited,
    say,
    server_error,
    too_long,
)

__all__ = [
    "Call",
    "FakeModelServer",
    "Reply",
    "Responder",
    "Script",
    "SeenRequest",
    "call",
    "calls",
    "cut",
    "rate_limited",
    "say",
    "server_error",
    "too_long",
]

ROUTES: dict[str, ModuleType] = {
    "/v1/messages": wire_anthropic,
    "/v1/chat/completions": wire_openai,
    "/v1/responses": wire_responses,
}
COUNTS = ("usage", "usageMetadata")
GATE_SECONDS = 300.0


class FakeModelServer:
    """A model service on 127.0.0.1 with a responder from the test; a context manager."""

    key = "test-key-0123456789"

    def __init__(self, responder: Responder) -> None:
        """Listen at once on a free port; `requests` and `problems` grow with each request."""
        self.responder = responder
        self.requests: list[SeenRequest] = []
        self.problems: list[str] = []
        self._changed = threading.Condition()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.fake = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """The server's root, which is Anthropic's base URL; OpenAI's has `/v1` after it."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def env(self, *services: str) -> dict[str, str]:
        """Return the variables that redirect calls of these services here; without any, of all."""
        variables = {
            "anthropic": {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": self.key},
            "openai": {"OPENAI_BASE_URL": f"{self.url}/v1", "OPENAI_API_KEY": self.key},
            "google": {"GOOGLE_GEMINI_BASE_URL": self.url, "GEMINI_API_KEY": self.key},
        }
        named = (variables[service] for service in services or variables)
        return {name: value for pairs in named for name, value in pairs.items()}

    def wait_for(
        self, wanted: Callable[[SeenRequest], bool], within_seconds: float = 30
    ) -> SeenRequest:
        """Wait for the first request that is `wanted`, and return it; TimeoutError."""
        with self._changed:
            self._changed.wait_for(lambda: any(map(wanted, self.requests)), within_seconds)
            for seen in self.requests:
                if wanted(seen):
                    return seen
        raise TimeoutError(f"no such request among {len(self.requests)}; {self.problems}")

    def seen_by(self, actor: str) -> list[SeenRequest]:
        """Return the requests of one actor, by the name in its system prompt."""
        return [seen for seen in self.requests if seen.is_for(actor)]

    def close(self) -> None:
        """Stop listening and drop every open connection."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> "FakeModelServer":
        """Return the server itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()

    def record(self, seen: SeenRequest) -> None:
        """Store a request and wake the tests that wait for it."""
        with self._changed:
            self.requests.append(seen)
            self._changed.notify_all()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    fake: FakeModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: many tests are about a client that disconnects in mid-answer."""


class _Handler(BaseHTTPRequestHandler):
    """Each answer is sent as one segment: in pieces, every call would wait for an ACK."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the tests' output clean."""

    def do_GET(self) -> None:
        """List the models."""
        self._send(200, {"data": [{"id": "fake", "object": "model"}], "object": "list"})

    def do_POST(self) -> None:
        """Answer one request to the model."""
        raw = self.rfile.read(int(self.headers["content-length"]))
        body = json.loads(raw)
        path = self.path.partition("?")[0]
        wire = ROUTES.get(path)
        if (place := wire_google.PATH.fullmatch(path)) is not None:
            wire = wire_google
            is_stream = place["verb"] == "streamGenerateContent"
            body |= {"model": place["model"], "stream": is_stream}
        fake = self.server.fake
        if wire is None:
            self._send(404, {"error": {"message": f"no route {self.path}"}})
            return
        if self._key() != fake.key:
            self._send(401, wire.error(401, "", f"invalid api key {self._key()}"))
            return
        if str(body["model"]).startswith("no-such"):
            self._send(404, wire.error(404, "", f"model: {body['model']}"))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            about = {"headers": headers, "number": len(fake.requests), "path": self.path}
            seen = replace(wire.read(body), raw=raw, **about)
            fake.record(seen)
            reply = fake.responder(seen)
        except (LookupError, ValueError, AssertionError, TypeError) as problem:
            fake.problems.append(f"{type(problem).__name__}: {problem}")
            self._send(400, wire.error(400, "bad_request", f"fake model: {problem}"))
            return
        self._answer(wire, seen, reply)

    def _key(self) -> str:
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return str(self.headers.get("x-api-key") or self.headers.get("x-goog-api-key") or bearer)

    def _answer(self, wire: ModuleType, seen: SeenRequest, reply: Reply) -> None:
        if reply.gate is not None:
            reply.gate.wait(GATE_SECONDS)
        if reply.status != 200:
            extra = {"retry-after": reply.retry_after} if reply.retry_after else {}
            self._send(reply.status, wire.error(reply.status, *reply.error), extra)
            return
        usage = reply.usage or _guessed_usage(seen, reply)
        ids = [made.id or _call_id(seen, n) for n, made in enumerate(reply.calls)]
        shown = _as_it_is if reply.is_counted else _without_counts
        if not seen.body.get("stream"):
            self._send(200, shown(wire.whole(reply, seen, usage, ids)))
            return
        events = wire.events(reply, seen, usage, ids, _pieces(reply.text))
        self._stream(((name, shown(data)) for name, data in events), reply)

    def _stream(self, events: Iterator[wire_anthropic.Sse], reply: Reply) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        first = (_pieces(reply.text) or [""])[0]
        gated = reply.text_gate is not None and first and reply.stall_after is None
        for count, (name, data) in enumerate(events):
            if count == reply.cut_after:
                self.close_connection = True
                return
            if count == reply.stall_after and reply.text_gate is not None:
                self.wfile.flush()
                reply.text_gate.wait(GATE_SECONDS)
            text = data if isinstance(data, str) else json.dumps(data)
            self._chunk((f"event: {name}\n" if name else "") + f"data: {text}\n\n")
            if gated and json.dumps(first) in text and reply.text_gate is not None:
                gated = False
                self.wfile.flush()
                reply.text_gate.wait(GATE_SECONDS)
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _send(self, status: int, body: Any, extra: Mapping[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in (extra or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def _as_it_is(data: Any) -> Any:
    return data


def _without_counts(data: Any) -> Any:
    """Return an answer or an event without its counts of tokens, at any depth."""
    if isinstance(data, list):
        return [_without_counts(one) for one in data]
    if not isinstance(data, dict):
        return data
    kept = {key: value for key, value in data.items() if key not in COUNTS}
    return {key: _without_counts(value) for key, value in kept.items()}


def _pieces(text: str | None) -> list[str]:
    """Return the text cut into about four pieces, like a stream."""
    if not text:
        return []
    size = max(1, -(-len(text) // 4))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _guessed_usage(seen: SeenRequest, reply: Reply) -> Usage:
    answer = (reply.text or "") + "".join(made.json for made in reply.calls)
    return Usage(
        input_tokens=len(json.dumps(dict(seen.body))) // 4, output_tokens=1 + len(answer) // 4
    )


def _call_id(seen: SeenRequest, number: int) -> str:
    """Return an id that is derived from the step: a repeated step has the same id."""
    seed = f"{seen.system}\x1f{len(seen.turns)}\x1f{number}".encode()
    return "call_" + hashlib.blake2b(seed, digest_size=8).hexdigest()
