"""A service is waited for as long as it is restarted, an entity for as long as it is wanted."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from actors.entity.asking import ask_until_answered
from agiraph.errors import Unavailable
from agiraph.messages import ChildInfo, ChildTable, ListChildren, Ok, ViewBoard
from transport.errors import PeerLost

COORDINATOR = "survey-1/coordinator"


class Bus:
    """A runtime whose peers are away for `absences` questions; the hours fly meanwhile."""

    def __init__(self, absences: int, state: str = "backing_off") -> None:
        self.absences = absences
        self.table = ChildTable(
            children=(ChildInfo(address=COORDINATOR, kind="c", state=state, cause="boom"),)
        )
        self.clock = SimpleNamespace(monotonic=self._now)
        self._seconds = 0.0

    def _now(self) -> float:
        self._seconds += 3600
        return self._seconds

    async def ask(self, to: str, body: Any, **_: Any) -> Any:
        if isinstance(body, ListChildren):
            return SimpleNamespace(body=self.table)
        if self.absences:
            self.absences -= 1
            raise PeerLost(f"{to} is not there")
        return SimpleNamespace(body=Ok())

    def done(self, received: Any) -> None:
        pass


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(_seconds: float) -> None:
        pass

    monkeypatch.setattr("actors.entity.asking.asyncio.sleep", at_once)


def asked(bus: Bus, to: str) -> Any:
    return asyncio.run(ask_until_answered(bus, to, ViewBoard())).body  # type: ignore[arg-type]


@pytest.mark.parametrize("service", ["broker", "clock", "supervisor", "tools/web"])
def test_a_service_is_waited_for_however_long_it_is_away(service: str) -> None:
    assert asked(Bus(500), service) == Ok()


@pytest.mark.parametrize("state", ["starting", "ready", "backing_off", "parked"])
def test_an_entity_is_waited_for_while_it_is_started_again(state: str) -> None:
    assert asked(Bus(500, state), COORDINATOR) == Ok()


@pytest.mark.parametrize("state", ["failed", "stopped", "exited"])
def test_an_entity_that_was_given_up_is_waited_for_no_longer(state: str) -> None:
    with pytest.raises(Unavailable, match=rf"survey-1/coordinator is {state} \(boom\)"):
        asked(Bus(500, state), COORDINATOR)
