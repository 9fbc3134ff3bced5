"""The site of each test."""

from collections.abc import Iterator

import pytest

from tests.fakes.site import FakeSite


@pytest.fixture
def site() -> Iterator[FakeSite]:
    """Return a site of this test's own."""
    made = FakeSite()
    yield made
    made.close()
