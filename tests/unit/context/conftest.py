"""A store for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agiraph.context.store import ContextStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ContextStore]:
    """An empty context database."""
    found = ContextStore(tmp_path.resolve() / "context.db")
    yield found
    found.close()
