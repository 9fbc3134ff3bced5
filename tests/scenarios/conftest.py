"""The house of each scenario, cleared away after it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import Brain
from tests.scenarios.house import House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Callable[[Brain], House]]:
    """Return a maker of houses."""
    houses: list[House] = []

    def make(brain: Brain) -> House:
        houses.append(House(tmp_path, brain))
        return houses[-1]

    yield make
    for made in houses:
        made.close()
