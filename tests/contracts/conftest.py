"""The bus on which each guarantee is tested: every kind of bus in turn."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contracts.bus import BUSES, ManagedBus, open_managed_bus


@pytest.fixture(params=BUSES)
async def managed(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ManagedBus]:
    """Run a bus of each kind for one test."""
    async with open_managed_bus(request.param, tmp_path) as managed:
        yield managed
