"""An asker waits while the recipient is being restarted."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from actors.runtime.ask_again import ask_until_answered
from agiraph.messages.board import ViewBoard
from agiraph.messages.control import Ok
from transport.errors import PeerLost


class AbsentPeerRuntime:
    """A runtime whose peers are absent for `absences` requests; waiting takes no time."""

    def __init__(self, absences: int) -> None:
        self.absences = absences
        self.clock = SimpleNamespace(monotonic=self._now)
        self.heartbeat = SimpleNamespace(waiting_for=nullcontext)
        self._seconds = 0.0

    def _now(self) -> float:
        self._seconds += 3600
        return self._seconds

    async def ask(self, to: str, body: Any, **_: Any) -> Any:
        if self.absences:
            self.absences -= 1
            raise PeerLost(f"{to} is not there")
        return SimpleNamespace(body=Ok())


@pytest.mark.parametrize(
    "peer", ["broker", "clock", "supervisor", "tools/web", "survey-1/coordinator"]
)
async def test_service_is_awaited_without_a_limit(
    monkeypatch: pytest.MonkeyPatch, peer: str
) -> None:
    async def at_once(_seconds: float) -> None:
        pass

    monkeypatch.setattr("actors.runtime.ask_again.asyncio.sleep", at_once)
    answer = await ask_until_answered(AbsentPeerRuntime(500), peer, ViewBoard())  # type: ignore[arg-type]
    assert answer.body == Ok()
