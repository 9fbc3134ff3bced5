"""Where the gateway listens: the old port if it can, a clear word if it cannot."""

import socket

import pytest

from actors.gateway.http.server import bind, url_of
from agiraph.core.errors import Refused


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_gateway_that_comes_back_takes_its_old_port() -> None:
    port = free_port()
    with bind("127.0.0.1", 0, port) as listener:
        assert url_of(listener) == f"http://127.0.0.1:{port}"


def test_an_old_port_that_somebody_else_has_is_left_to_them() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with bind("127.0.0.1", 0, port) as listener:
            assert listener.getsockname()[1] not in (0, port)


def test_a_configured_port_that_is_taken_is_refused_with_what_to_set() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(Refused, match=r"cannot listen on 127\.0\.0\.1:\d+ .*http\.port"):
            bind("127.0.0.1", other.getsockname()[1], None)
