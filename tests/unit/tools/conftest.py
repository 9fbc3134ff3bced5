"""A worker's tools, and an agent's home with files, for the tests of tools."""

from pathlib import Path

import pytest

from tests.unit.tools.entity_tools import EntityTools
from tests.unit.tools.scopes.home_layout import HomeLayout, build


@pytest.fixture
def entity(tmp_path: Path) -> EntityTools:
    return EntityTools(tmp_path)


@pytest.fixture
def layout(tmp_path: Path) -> HomeLayout:
    return build(tmp_path.resolve())
