"""The house in which each promise of the bus is tested, on every kind of bus."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contracts.bus import BUSES, House, open_house


@pytest.fixture(params=BUSES)
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    """Run a bus of each kind for one test."""
    async with open_house(request.param, tmp_path) as house:
        yield house
