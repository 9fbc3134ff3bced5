"""Shared fixtures: a supervisor with probes for actors, a gateway with its client.

A file that has a fixture of its own by one of these names overrides it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agiraph.http.client import Client, read_gateway_address
from tests.fakes.gateway import GatewayHome, running_gateway
from tests.integration.probed_supervisor import ProbedSupervisor, running

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-x", "OPENAI_BASE_URL": "http://x"}
OTHER_SECRETS = {"MY_TOKEN": "t"}


@pytest.fixture(scope="session")
def _shared_supervisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProbedSupervisor]:
    with running(tmp_path_factory.mktemp("home"), **KEYS, **OTHER_SECRETS) as supervisor:
        yield supervisor


@pytest.fixture(scope="module")
def supervisor(_shared_supervisor: ProbedSupervisor) -> ProbedSupervisor:
    """Return a supervisor with all defaults and with keys in its environment.

    Many files start their children there: an address, and so a test's agent, is used only once.
    """
    return _shared_supervisor


@pytest.fixture
def gateway_home(tmp_path: Path) -> Iterator[GatewayHome]:
    with running_gateway(tmp_path / "home") as gateway_home:
        yield gateway_home


@pytest.fixture
def url(gateway_home: GatewayHome) -> str:
    """Return the URL at which the gateway listens."""
    return read_gateway_address(gateway_home.home.path)[0]


@pytest.fixture
def token(gateway_home: GatewayHome) -> str:
    """Return the home's own token."""
    return read_gateway_address(gateway_home.home.path)[1]


@pytest.fixture
def client(gateway_home: GatewayHome) -> Iterator[Client]:
    with gateway_home.client() as client:
        yield client
