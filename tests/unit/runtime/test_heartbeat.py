"""Heartbeats: an actor's activity is noted at once, and reported once it lasts."""

import asyncio
from collections.abc import Iterable

from actors.runtime.heartbeat import HeartbeatSender
from agiraph.core.ids import HUMAN, SUPERVISOR
from agiraph.core.models import EntityState
from agiraph.messages.child import ChildHeartbeat


class RecordingEndpoint:
    """An endpoint that records its messages."""

    def __init__(self) -> None:
        self.logged: list[str] = []
        self.posted: list[tuple[str, str]] = []

    def post(self, to: str, body: ChildHeartbeat) -> None:
        self.posted.append((to, body.doing.step))


def busy(step: str) -> EntityState:
    return EntityState(state="busy", step=step)


async def reported(steps: Iterable[str], before: str = "") -> tuple[RecordingEndpoint, list[str]]:
    """Return the posted and the noted states of `steps`; `before` was reported already."""
    line, noted = RecordingEndpoint(), list[str]()
    sender = HeartbeatSender(
        line,  # type: ignore[arg-type]
        60.0,
        lambda doing: noted.append(str(doing)),
        lambda state: line.logged.append(state.step),
    )
    loop = asyncio.get_running_loop()
    if before:
        sender._reported = sender._state = busy(before)
    for step in steps:
        sender.show(busy(step))
    due = sender._settling.when() if sender._settling else 0.0
    await asyncio.sleep(max(0.0, due - loop.time()))
    await asyncio.sleep(0)
    return line, noted


async def test_a_step_that_is_over_at_once_is_noted_but_not_reported() -> None:
    line, noted = await reported(["thinking", "bash", "thinking"])
    assert noted == ["busy: thinking", "busy: bash", "busy: thinking"]
    assert line.posted == [(SUPERVISOR, "thinking"), (HUMAN, "thinking")]
    assert line.logged == ["thinking"]


async def test_repeated_step_is_not_reported_again() -> None:
    line, noted = await reported(["thinking"], before="thinking")
    assert (line.posted, noted) == ([], [])
