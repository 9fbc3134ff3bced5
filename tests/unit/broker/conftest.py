"""Fixtures of the broker's tests: a ledger, and calls whose ledger is closed at the end."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from actors.broker.calls import ModelCalls
from agiraph.core.clock import Clock, SystemClock
from agiraph.models.prices import Price
from agiraph.settings.config import Config
from agiraph.spending.ledger import UsageLedger
from tests.unit.broker.stubs import MODEL, PRICE, StubProvider, StubServices, quick_config

CallsOf = Callable[..., ModelCalls]


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[UsageLedger]:
    with UsageLedger(tmp_path / "usage.db") as opened:
        yield opened


@pytest.fixture
def calls_of(ledger: UsageLedger) -> CallsOf:
    """Return ModelCalls to a stub."""

    def build(
        stub: StubProvider,
        config: Config | None = None,
        price: Price | None = PRICE,
        clock: Clock | None = None,
    ) -> ModelCalls:
        config = config or quick_config()
        prices = {} if price is None else {MODEL: price}
        services = StubServices(config, stub)
        return ModelCalls(config, services, prices, ledger, clock or SystemClock())

    return build
