"""A worker's desk, and an agent's home with files, for the tests of tools."""

from pathlib import Path

import pytest

from tests.unit.tools.desk import Desk
from tests.unit.tools.scopes.house import House, build


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return build(tmp_path.resolve())
