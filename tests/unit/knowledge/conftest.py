"""A store for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agiraph.knowledge.store import KnowledgeStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[KnowledgeStore]:
    """An empty knowledge database."""
    found = KnowledgeStore(tmp_path.resolve() / "knowledge.db")
    yield found
    found.close()
