"""A worker's desk for the tests of tools."""

from pathlib import Path

import pytest

from tests.unit.tools.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)
