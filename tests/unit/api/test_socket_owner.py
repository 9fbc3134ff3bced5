"""Which user of this machine has the other end of a connection."""

import os
import socket
import sys

import pytest

from agiraph.api.auth.socket_owner import owner_of


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/net is of Linux")
@pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
)
def test_the_owner_of_a_connection_on_this_machine_is_found(
    family: socket.AddressFamily, host: str
) -> None:
    with socket.create_server((host, 0), family=family) as listener:
        server = listener.getsockname()[:2]
        with socket.create_connection(server) as client:
            place = client.getsockname()[:2]
            assert owner_of(place, server) == os.geteuid()
            assert owner_of((host, 1), server) is None
            assert owner_of(place, (host, 1)) is None


def test_invalid_address_has_no_owner() -> None:
    assert owner_of(("testclient", 50_000), ("testserver", 80)) is None
