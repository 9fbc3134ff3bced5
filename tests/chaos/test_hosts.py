"""A team on several machines whose processes, power and links fail: nothing is lost or doubled."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agiraph.core.errors import InvalidInput
from cli.chaos.network import Network, Weather, run_apart
from tests.integration.waiting import until
from tests.scenarios.scenario_home import processes_of

DEADLINE_SECONDS = 240.0
AGIRAPH = (sys.executable, "-P", "-m", "agiraph")
SAID, MEMBER = 300_000, "there"
SENDS = (
    f"import socket; s = socket.create_connection(('{{}}', 7000)); s.sendall(bytes({SAID}));"
    " s.shutdown(1); s.recv(1)"
)


@pytest.fixture(scope="module", autouse=True)
def namespaces() -> None:
    """Skip where there can be no network namespaces."""
    try:
        run_apart(["true"])
    except InvalidInput as reason:
        pytest.skip(str(reason))


def over_a_bad_network() -> None:
    """Receive another member's message, whole, although packets are lost and overtake others."""
    import socket

    weather = Weather(loss=0.05, delay=0.002, jitter=0.004, reordered=0.1)
    with Network(["here", MEMBER], weather) as network, socket.create_server(("", 7000)) as server:
        program = SENDS.format(network.addresses["here"])
        command = network.inside(MEMBER, [sys.executable, "-c", program])
        with subprocess.Popen(command) as sender:
            line, _ = server.accept()
            with line:
                got = sum(map(len, iter(lambda: line.recv(65536), b"")))
        assert sender.returncode == 0
        assert got == SAID
        assert network.lost > 0


def test_messages_arrive_over_a_network_that_loses_packets() -> None:
    program = "from tests.chaos.test_hosts import over_a_bad_network; over_a_bad_network()"
    assert run_apart([sys.executable, "-c", program]) == 0


@pytest.mark.machines
@pytest.mark.parametrize("seed", ["1", "2", "5"])
def test_failures_of_machines_hosts_and_links_neither_lose_nor_repeat_work(
    tmp_path: Path, seed: str
) -> None:
    words = ("chaos", "--hosts", "3", "--kills", "30", "--seed", seed, "--keep", str(tmp_path))
    done = subprocess.run(
        [*AGIRAPH, *words, "--json"],
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"] == "good"
    assert any(kind.startswith(("host", "machine", "link")) for kind in found["strikes"])
    until(lambda: not processes_of(tmp_path), "the end of every process")
