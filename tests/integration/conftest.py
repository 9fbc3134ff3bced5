"""A gateway with its client for each test of the API; a file that has its own overrides them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agiraph.client import Client
from tests.fakes.gateway import World, gateway_world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with gateway_world(tmp_path / "home") as world:
        yield world


@pytest.fixture
def client(world: World) -> Iterator[Client]:
    with world.client() as client:
        yield client
