"""Slow, greedy and lying clients are disconnected; other clients are served meanwhile."""

import json
import re
import select
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from fastapi.routing import APIRoute
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from actors.runtime.http_server import SPARE_CONNECTIONS
from agiraph.api.app import ROUTERS
from agiraph.api.auth.scopes import WEBSOCKET, rules_of
from agiraph.api.strict_json import StrictRoute
from agiraph.http.api import CreateTokenRequest
from agiraph.http.client import Client
from tests.fakes.gateway import AGENT, RUN, GatewayHome, running_gateway
from tests.integration.raw_connection import DEADLINE_SECONDS, RawConnection, ask
from tests.integration.waiting import until

SECRET = "the-secret-of-the-house"
MOST_TRIES = 20
BOUNDS = {
    "head_seconds": 0.4,
    "body_seconds": 0.4,
    "stall_seconds": 0.4,
    "header_bytes": 4096,
    "body_bytes": 65536,
    "followers": 3,
    "calls_at_once": 2,
    "strangers_per_second": 10,
}


@pytest.fixture(scope="module")
def gateway_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayHome]:
    with running_gateway(tmp_path_factory.mktemp("home"), **BOUNDS) as gateway_home:
        gateway_home.add_agent()
        (gateway_home.home.path / "secret.md").write_text(SECRET)
        run = gateway_home.home.agent(AGENT).run(RUN).path
        (run / "large.txt").write_bytes(b"x" * 1024 * 1024)
        (run / "link.md").symlink_to(gateway_home.home.path / "secret.md")
        (run / "up").symlink_to(gateway_home.home.path)
        memory = gateway_home.home.agent(AGENT).memory
        memory.mkdir()
        (memory / "link.md").symlink_to(gateway_home.home.path / "secret.md")
        (memory / "up").symlink_to(gateway_home.home.path)
        yield gateway_home


def serves(raw: RawConnection) -> bool:
    """Whether the gateway still holds its end of a connection."""
    name, port = raw.socket.getsockname()
    return any(one.raddr == (name, port) for one in psutil.Process().net_connections("tcp"))


def trickle(raw: RawConnection) -> None:
    """Send a byte now and then, until the other side says something or hangs up."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not select.select([raw.socket], [], [], 0.02)[0]:
        assert time.monotonic() < deadline, "nobody minds a slow client"
        raw.socket.sendall(b"x")


# --- slow ones ---


@pytest.mark.parametrize(
    "begun", ["", "G", "GET /", "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: "]
)
def test_incomplete_request_head_is_answered_with_408(
    gateway_home: GatewayHome, url: str, begun: str
) -> None:
    with RawConnection(url) as raw:
        raw.socket.sendall(begun.encode())
        if len(begun) > 1:
            trickle(raw)
        assert raw.status() == 408


def test_incomplete_second_head_is_answered_with_408(url: str, token: str) -> None:
    for _ in range(MOST_TRIES):
        with RawConnection(url) as raw:
            raw.send("GET /health HTTP/1.1", f"Authorization: Bearer {token}")
            if b"200 OK" not in raw.socket.recv(65536):
                continue  # on a busy machine we may be too slow with the first one ourselves
            raw.socket.sendall(b"GET /health HTTP/1.1\r\nX: ")
            trickle(raw)
            assert raw.status() == 408
            return
    pytest.fail("the first head never came in time")


@pytest.mark.parametrize("length", ["Content-Length: 50000", "Transfer-Encoding: chunked"])
def test_incomplete_body_is_answered_with_408(url: str, token: str, length: str) -> None:
    with RawConnection(url) as raw:
        raw.send(
            f"POST /agents/{AGENT}/nudge HTTP/1.1",
            *(f"Authorization: Bearer {token}", "Content-Type: application/json", length),
        )
        raw.socket.sendall(b'{"' if "Content" in length else b"C350\r\n{")
        trickle(raw)
        assert raw.status() == 408


@pytest.mark.parametrize("token_given", [True, False])
def test_refusal_does_not_wait_for_the_unread_body(url: str, token: str, token_given: bool) -> None:
    with RawConnection(url) as raw:
        given = f"Authorization: Bearer {token if token_given else 'wrong'}"
        raw.send("POST /agents/nobody/pause HTTP/1.1", given, "Content-Length: 50000")
        assert raw.status() == (404 if token_given else 401)


def test_client_that_never_reads_is_disconnected(url: str, token: str) -> None:
    with RawConnection(url, receive_bytes=4096) as raw:
        for _ in range(12):  # a megabyte each: more than the kernel holds for it
            raw.send(
                f"GET /agents/{AGENT}/workspace/large.txt HTTP/1.1",
                f"Authorization: Bearer {token}",
            )
        until(lambda: serves(raw), "it is served")
        until(lambda: not serves(raw), "it is cut off")


UPGRADE = (
    *("Connection: Upgrade", "Upgrade: websocket"),
    *("Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="),
)


@pytest.mark.parametrize(("way", "status"), [(UPGRADE, 101), (("Accept: text/event-stream",), 200)])
def test_follower_that_never_reads_is_disconnected(
    gateway_home: GatewayHome, url: str, token: str, way: tuple[str, ...], status: int
) -> None:
    name = f"loud{status}"
    gateway_home.add_agent(f"{name}-abc123", name)
    for _ in range(12):
        gateway_home.log_events("x.loud", agent=f"{name}-abc123", text="x" * 1_000_000)
    with RawConnection(url, receive_bytes=4096) as raw:
        raw.send(f"GET /agents/{name}/events HTTP/1.1", f"Authorization: Bearer {token}", *way)
        until(lambda: serves(raw), "it is served")
        until(lambda: not serves(raw), "it is cut off")

    def statuses() -> list[int | None]:
        lines = map(json.loads, gateway_home.home.human.audit.read_text().splitlines())
        return [line["status"] for line in lines if line["path"].endswith(f"{name}/events")]

    until(lambda: statuses() == [None, status], "its end is in the audit")


# --- greedy ones ---


def test_a_head_that_is_too_large_is_refused_whole_or_not(url: str, token: str) -> None:
    with RawConnection(url) as raw:
        raw.send("GET /health HTTP/1.1", f"Authorization: Bearer {token}", "X: " + "x" * 4096)
        assert raw.status() == 431
    with RawConnection(url) as raw:
        raw.send(f"GET /agents?x={'x' * 4096} HTTP/1.1", f"Authorization: Bearer {token}")
        assert raw.status() == 431
    with RawConnection(url) as raw:
        raw.socket.sendall(b"GET /health HTTP/1.1\r\n" + b"X: y\r\n" * 2000)
        assert raw.status() == 400  # by uvicorn, before it is whole


def test_a_body_that_is_too_large_is_refused_without_being_read(url: str, token: str) -> None:
    with RawConnection(url) as raw:
        raw.send(
            f"POST /agents/{AGENT}/nudge HTTP/1.1",
            *(f"Authorization: Bearer {token}", "Content-Length: 999999999999"),
        )
        assert raw.status() == 413
    with RawConnection(url) as raw:
        raw.send(
            f"POST /agents/{AGENT}/nudge HTTP/1.1",
            *(f"Authorization: Bearer {token}", "Content-Type: application/json"),
            "Transfer-Encoding: chunked",
        )
        raw.socket.sendall(b"10001\r\n" + b"x" * 0x10001 + b"\r\n")
        assert raw.status() == 413


def test_token_with_too_many_calls_gets_a_retry_time(gateway_home: GatewayHome, url: str) -> None:
    with gateway_home.client() as client:
        made = client.add_token(CreateTokenRequest(name="eager", scope="read", calls_per_second=2))
        assert made.token is not None
        with Client(url, made.token) as eager:
            answers = [eager._http.get("/agents") for _ in range(8)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert refused
        assert refused[0].headers["retry-after"] == "1"
        assert refused[0].headers["content-type"] == "application/problem+json"
        assert "2 calls a second" in refused[0].json()["detail"]
        assert client.health().pid  # others are not held up


def test_only_a_guessing_client_is_slowed_down(url: str, token: str) -> None:
    until(lambda: ask(url, "guess", "/health")[0] == 429, "a stranger has to wait")
    assert ask(url, token, "/health")[0] == 200
    until(lambda: ask(url, "guess", "/health")[0] == 401, "a stranger is answered again")


def test_one_follower_too_many_is_refused(gateway_home: GatewayHome, url: str, token: str) -> None:
    place = f"ws{url[4:]}/agents/{AGENT}/events"
    with gateway_home.client() as client, ExitStack() as open_ones:
        other = str(client.add_token(CreateTokenRequest(name="other", scope="read")).token)

        def follow(secret: str) -> ClientConnection:
            headers = {"Authorization": f"Bearer {secret}"}
            return open_ones.enter_context(connect(place, additional_headers=headers, proxy=None))

        for secret in (token, token, other):
            gateway_home.log_events("x.seen")
            follow(secret).recv(timeout=5)
        with pytest.raises(InvalidStatus) as refused:
            follow(other)
        assert refused.value.response.status_code == 503


def test_one_token_cannot_use_all_calls(gateway_home: GatewayHome, url: str, token: str) -> None:
    path = f"ws{url[4:]}/agents/{AGENT}/events"
    with gateway_home.client() as client, ExitStack() as open_ones:
        made = client.add_token(CreateTokenRequest(name="holder", scope="read"))
        headers = {"Authorization": f"Bearer {made.token}"}
        for _ in range(2):
            open_ones.enter_context(connect(path, additional_headers=headers, proxy=None))
        until(lambda: ask(url, str(made.token), "/health")[0] == 429, "it has two calls open")
        assert client.health().pid


def test_excess_connection_is_refused_and_the_others_work(tmp_path: Path) -> None:
    most = 3
    with running_gateway(tmp_path, connections=most) as gateway_home, ExitStack() as open_ones:
        token = gateway_home.home.system.token.read_text().strip()
        with gateway_home.client() as client:
            url = client.url
        crowd = [
            open_ones.enter_context(RawConnection(url)) for _ in range(most + SPARE_CONNECTIONS + 2)
        ]
        until(lambda: not serves(crowd[-1]), "the last one is cut off")
        assert crowd[-1].rest() == b""
        given = ("GET /health HTTP/1.1", f"Authorization: Bearer {token}", "Connection: close")
        crowd[0].send(*given)
        assert crowd[0].status() == 200
        crowd[most + 1].send(*given)
        said = crowd[most + 1].rest()
        assert said.startswith(b"HTTP/1.1 503")
        assert b"http.connections" in said
        crowd[most + 2].send(*given[:2], *UPGRADE)
        assert crowd[most + 2].status() == 503
        open_ones.close()
        until(lambda: ask(url, token, "/health")[0] == 200, "there is room again")


def test_follower_that_sends_a_large_message_is_disconnected(url: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    with connect(
        f"ws{url[4:]}/agents/{AGENT}/events", additional_headers=headers, proxy=None
    ) as socket:
        socket.send("x" * 100_000)
        with pytest.raises(ConnectionClosed):
            list(socket)


def test_follower_that_sends_many_messages_is_disconnected(
    gateway_home: GatewayHome, url: str
) -> None:
    with gateway_home.client() as client:
        made = client.add_token(CreateTokenRequest(name="chatty", scope="read", calls_per_second=5))
    headers = {"Authorization": f"Bearer {made.token}"}
    with connect(
        f"ws{url[4:]}/agents/{AGENT}/events", additional_headers=headers, proxy=None
    ) as socket:

        def is_disconnected() -> bool:
            try:
                socket.send("x")
            except ConnectionClosed:
                return True
            return False

        until(is_disconnected, "the follower is disconnected")


# --- lying ones ---

ESCAPES = (
    "../../../../secret.md",
    "..%2f..%2f..%2f..%2fsecret.md",
    "%2e%2e/%2e%2e/%2e%2e/%2e%2e/secret.md",
    "%252e%252e%252f%252e%252e%252fsecret.md",
    "..%5c..%5c..%5c..%5csecret.md",
    "....//....//....//....//secret.md",
    "..;/..;/..;/..;/secret.md",
    "%c0%ae%c0%ae/%c0%ae%c0%ae/secret.md",
    "%ef%bc%8e%ef%bc%8e/secret.md",
    "x%00/../secret.md",
    "secret.md%00.txt",
    "link.md",
    "up/secret.md",
    "up%2fsecret.md",
    "./link.md",
    "{home}/secret.md",
    "%2f{home}/secret.md",
    "file:{home}/secret.md",
)
FILE_ROUTES = sorted(
    {
        rule.template
        for rule in rules_of(ROUTERS)
        if rule.method not in (WEBSOCKET, "POST") and rule.template.endswith("{path:path}")
    }
)


@pytest.mark.parametrize("template", FILE_ROUTES)
def test_path_cannot_leave_the_served_folders(
    gateway_home: GatewayHome, url: str, token: str, template: str
) -> None:
    base = re.sub(r"{agent}", AGENT, template.removesuffix("{path:path}"))
    base = re.sub(r"{[^}]*}", "x", base)
    for escape in ESCAPES:
        target = base + escape.format(home=gateway_home.home.path)
        for more in ("", "?as=raw", "?as=html"):
            status, body = ask(url, token, target + more)
            assert status in range(400, 500), target
            assert SECRET.encode() not in body, target


@pytest.mark.parametrize(
    "target",
    [
        "/agents/../workspace/secret.md",
        "/agents/..%2f..%2f/workspace/secret.md",
        f"/agents/{AGENT}%2f..%2f../workspace/secret.md",
        f"/agents/{AGENT}/workspace/secret.md?run=../../..",
        f"/agents/{AGENT}/workspace/secret.md?run=..%2f..%2f..",
        f"/agents/{AGENT}/workspace/?run=/",
        f"/agents/{AGENT}/board/..%2f..%2fsecret.md",
        f"/agents/{AGENT}/messages?run=../../..",
        "//secret.md",
        "/../secret.md",
        "/openapi.json/../secret.md",
    ],
)
def test_name_cannot_leave_the_home(url: str, token: str, target: str) -> None:
    status, body = ask(url, token, target)
    assert status in (*range(400, 500), 307)
    assert SECRET.encode() not in body


def test_a_link_in_a_memory_is_not_searched_through(url: str, token: str) -> None:
    with Client(url, token) as client:
        assert not any(SECRET in hit.text for hit in client.search_memory(AGENT, SECRET))
        assert [entry.path for entry in client.memory(AGENT)] == []


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.nip.io",
        "localhost.evil.example",
        "localhost.",
        "x.localhost",
        "127.0.0.1@evil.example",
        "evil.example#localhost",
        "[::1].evil.example",
        "0.0.0.0",
        "127.1",
        "2130706433",
        "localhost, evil.example",
        "localhost:80:80",
        "",
    ],
)
def test_rebound_host_name_is_refused(url: str, token: str, host: str) -> None:
    for more in ((), ("Upgrade: websocket", "Connection: Upgrade")):
        with RawConnection(url) as raw:
            raw.send(
                *("GET /health HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {token}"),
                *more or ("Connection: close",),
                host=False,
            )
            assert raw.status() in (400, 403)


OWN = "the line with the token"


@pytest.mark.parametrize(
    "lines",
    [
        ("GET /health HTTP/1.1\nX: y",),
        ("GET /health HTTP/1.1", "X: a\rSet-Cookie: b=c"),
        ("GET /health HTTP/1.1", "X y: z"),
        ("GET /health HTTP/1.1", "Host: evil", OWN),
        ("GET /health HTTP/1.1", "X : spaced", OWN),
        ("GET /health HTTP/1.1", "Content-Length: 1", "Transfer-Encoding: chunked", OWN),
        ("CONNECT localhost:80 HTTP/1.1", OWN),
        ("get /health HTTP/1.1", OWN),
        ("GET /h\x01ealth HTTP/1.1", OWN),
        ("GET /health HTTP/9", OWN),
        ("GET /ü HTTP/1.1", OWN),
        ("PRI * HTTP/2.0", OWN),
        ("GET /health HTTP/1.1", "Content-Length: 5", "Content-Length: 6"),
        ("GET /health HTTP/1.1", "Content-Length: -1"),
        ("GET /health HTTP/1.1", "Transfer-Encoding: gzip, chunked"),
        ("GET /health\r\nX: HTTP/1.1",),
        ("GET http://evil.example/health HTTP/9.9",),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",),
    ],
)
def test_invalid_http_is_refused(url: str, token: str, lines: tuple[str | bytes, ...]) -> None:
    with RawConnection(url) as raw:
        given = f"Authorization: Bearer {token}"
        raw.send(*(given if line == OWN else line for line in lines), "Connection: close")
        raw.socket.shutdown(1)
        assert raw.status() in (0, 400, 401, 403, 404, 405, 501)
    assert ask(url, token, "/health")[0] == 200


def test_no_line_break_of_a_caller_gets_into_a_head(url: str, token: str) -> None:
    for target in (
        "/agents/x%0d%0aSet-Cookie:%20a=b",
        "/x%0d%0aSet-Cookie:%20a=b/",
        "/login%0d%0aSet-Cookie:%20a=b",
        "/agents/%0d%0a%0d%0a<script>/?x=%0d%0aSet-Cookie:%20a=b",
    ):
        with RawConnection(url) as raw:
            given = f"Authorization: Bearer {token}"
            raw.send(f"GET {target} HTTP/1.1", given, "Connection: close")
            head = raw.rest().partition(b"\r\n\r\n")[0].lower()
        assert not any(line.startswith(b"set-cookie") for line in head.split(b"\r\n"))


def test_every_call_is_audited_regardless_of_its_outcome(
    gateway_home: GatewayHome, url: str, token: str
) -> None:
    def ids() -> set[str]:
        files = gateway_home.home.human.path.glob("audit.jsonl*")
        return {json.loads(line)["id"] for file in files for line in file.read_text().splitlines()}

    before = ids()
    own = ("GET", f"Authorization: Bearer {token}")
    calls = [
        ("/health", own),
        ("/agents/nobody", own),
        ("/nothing", own),
        ("/health?token=x", own),
        ("/agents?after=x", own),
        ("/health", ("GET", "Origin: http://evil.example")),
        ("/health", ("GET", "Authorization: Bearer wrong")),
        ("/health", ("DELETE", f"Authorization: Bearer {token}")),
        ("/agents", ("POST", f"Authorization: Bearer {token}")),
        ("/login", ("GET", "X: y")),
        ("/login", ("POST", "X: y")),
        ("/answer/abc", ("GET", "X: y")),
    ]
    for target, (method, line) in calls:
        with RawConnection(url) as raw:
            raw.send(f"{method} {target} HTTP/1.1", line, "Connection: close")
            assert raw.rest()
    assert len(ids() - before) == len(calls)
    assert token not in gateway_home.home.human.audit.read_text()


@pytest.mark.parametrize("odd", ["1e999", "-1e999", "NaN", "Infinity", str(10**30), "[" * 100])
@pytest.mark.parametrize(
    "body",
    [
        '{"goal": "g", "output_schema": {"type": "number", "maximum": %s}}',
        '{"goal": "g", "budget_usd": %s}',
        '{"goal": "g", "made_up": [%s]}',
    ],
)
def test_number_that_cannot_be_stored_is_refused_at_any_place(
    url: str, token: str, body: str, odd: str
) -> None:
    closed = odd + "]" * odd.count("[")
    data = (body % closed).encode()
    with RawConnection(url) as raw:
        raw.send(
            "POST /agents HTTP/1.1",
            *(f"Authorization: Bearer {token}", "Content-Type: application/json"),
            *(f"Content-Length: {len(data)}", "Connection: close"),
        )
        raw.socket.sendall(data)
        assert raw.status() == 422


def test_every_route_reads_a_body_in_the_same_strict_way() -> None:
    routes = [route for router in ROUTERS for route in router.routes]
    assert all(isinstance(one, StrictRoute) for one in routes if isinstance(one, APIRoute))
