"""One connection: several requests at once, unknown upgrades, invalid bytes."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.fakes.gateway import AGENT, GatewayHome, running_gateway
from tests.integration.raw_connection import RawConnection


@pytest.fixture(scope="module")
def gateway_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayHome]:
    with running_gateway(tmp_path_factory.mktemp("home"), head_seconds=0.3) as gateway_home:
        gateway_home.add_agent()
        yield gateway_home


@pytest.fixture
def own(token: str) -> str:
    return f"Authorization: Bearer {token}"


def answers(raw: RawConnection, wanted: int) -> list[bytes]:
    """Return the bodies of so many answers, which all came whole and in order."""
    data = b""
    bodies: list[bytes] = []
    while len(bodies) < wanted:
        piece = raw.socket.recv(65536)
        assert piece, data
        data += piece
        while head := re.match(rb"HTTP/1.1 200 .*?content-length: (\d+).*?\r\n\r\n", data, re.S):
            end = head.end() + int(head[1])
            if len(data) < end:
                break
            bodies.append(data[head.end() : end])
            data = data[end:]
    return bodies


def test_pipelined_requests_are_answered_in_order(url: str, own: str) -> None:
    paths = ["/health", f"/agents/{AGENT}", "/questions", "/health"]
    with RawConnection(url) as raw:
        for path in paths:
            raw.send(f"GET {path} HTTP/1.1", own)
        told = [json.loads(body) for body in answers(raw, len(paths))]
    assert [told[0]["agents"], told[1]["id"], told[2]] == [1, AGENT, []]


def test_request_head_may_be_split_and_follow_a_body(url: str, own: str) -> None:
    body = b'{"message": "hello"}'
    length = f"Content-Length: {len(body)}"
    with RawConnection(url) as raw:
        raw.send(f"POST /agents/{AGENT}/send HTTP/1.1", own, "Content-Type: text/plain", length)
        raw.socket.sendall(body[:5])
        raw.socket.sendall(body[5:] + b"GET /hea")
        raw.socket.sendall(b"lth HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 9000)
        raw.socket.sendall(f"\r\n{own}\r\nConnection: close\r\n\r\n".encode())
        seen = b"".join(iter(lambda: raw.socket.recv(65536), b""))
    assert [status[9:12] for status in re.findall(rb"HTTP/1.1 \d+", seen)] == [b"422", b"200"]


def test_trailer_is_not_used_as_a_header(url: str, own: str) -> None:
    with RawConnection(url) as raw:
        raw.send(
            f"POST /agents/{AGENT}/send HTTP/1.1",
            *("Content-Type: application/json", "Transfer-Encoding: chunked", own),
        )
        raw.socket.sendall(b'14\r\n{"message": "hello"}\r\n0\r\nIdempotency-Key: late\r\n\r\n')
        assert b'"id"' in answers(raw, 1)[0]
    with RawConnection(url) as raw:
        raw.send(f"POST /agents/{AGENT}/send HTTP/1.1", "Transfer-Encoding: chunked")
        raw.socket.sendall(f"0\r\n{own}\r\n\r\n".encode())
        assert raw.status() == 401


def test_an_upgrade_that_we_do_not_know_is_answered_and_ends_the_connection(
    url: str, own: str
) -> None:
    with RawConnection(url) as raw:
        raw.send("GET /health HTTP/1.1", own, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c")
        assert raw.status() == 200


@pytest.mark.parametrize("odd", [b"\r\n\r\n", b"\r\n" * 40])
def test_empty_lines_before_a_head_keep_no_connection_open(url: str, odd: bytes) -> None:
    with RawConnection(url) as raw:
        raw.socket.sendall(odd)
        assert raw.status() in (400, 408)
