"""Shared fixtures: a supervisor with probes for actors, a gateway with its client.

A file that has a fixture of its own by one of these names overrides it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agiraph.http.client import Client, read_gateway_address
from tests.fakes.gateway import World, gateway_world
from tests.integration.house import House, running

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-x", "OPENAI_BASE_URL": "http://x"}
OTHER_SECRETS = {"MY_TOKEN": "t"}


@pytest.fixture(scope="session")
def _house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with running(tmp_path_factory.mktemp("home"), **KEYS, **OTHER_SECRETS) as house:
        yield house


@pytest.fixture(scope="module")
def house(_house: House) -> House:
    """Return a supervisor with all defaults and with keys in its environment.

    Many files start their children there: an address, and so a test's agent, is used only once.
    """
    return _house


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with gateway_world(tmp_path / "home") as world:
        yield world


@pytest.fixture
def url(world: World) -> str:
    """Return the URL at which the world's gateway listens."""
    return read_gateway_address(world.home.path)[0]


@pytest.fixture
def token(world: World) -> str:
    """Return the home's own token."""
    return read_gateway_address(world.home.path)[1]


@pytest.fixture
def client(world: World) -> Iterator[Client]:
    with world.client() as client:
        yield client
