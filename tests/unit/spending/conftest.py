"""A usage ledger that is closed after each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agiraph.spending.ledger import UsageLedger


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[UsageLedger]:
    with UsageLedger(tmp_path / "usage.db") as opened:
        yield opened
