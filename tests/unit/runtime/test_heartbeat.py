"""Heartbeats: what an actor does is reported once it lasts, and noted at once."""

import asyncio
from collections.abc import Iterable
from typing import Any

from actors.runtime.heartbeat import HeartbeatSender
from agiraph.core.models import Activity
from agiraph.messages.child import ChildHeartbeat
from agiraph.messages.event import EntityStatus


class Line:
    """An endpoint that keeps what is posted."""

    def __init__(self) -> None:
        self.logged: list[str] = []
        self.posted: list[Any] = []

    def post(self, to: str, body: Any) -> None:
        self.posted.append(body)

    def steps(self, kind: type[Any]) -> list[str]:
        return [body.doing.step for body in self.posted if isinstance(body, kind)]


def busy(step: str) -> EntityStatus:
    return EntityStatus(doing=Activity(state="busy", step=step))


async def reported(
    steps: Iterable[str], before: str = "", every_seconds: float = 60.0, age_seconds: float = 0.0
) -> tuple[Line, list[str]]:
    """Return what is posted, and noted, of `steps`; `before` was reported `age_seconds` ago."""
    line, noted = Line(), list[str]()
    sender = HeartbeatSender(
        line,  # type: ignore[arg-type]
        every_seconds,
        lambda doing: noted.append(str(doing)),
        lambda status: line.logged.append(status.doing.step),
    )
    loop = asyncio.get_running_loop()
    if before:
        sender._reported = sender._status = busy(before)
        sender._reported_at = loop.time() - age_seconds
    for step in steps:
        sender.show(busy(step))
    due = sender._settling.when() if sender._settling else 0.0
    await asyncio.sleep(max(0.0, due - loop.time()))
    await asyncio.sleep(0)
    return line, noted


async def test_a_step_that_is_over_at_once_is_noted_but_not_reported() -> None:
    line, noted = await reported(["thinking", "bash", "thinking"])
    assert noted == ["busy: thinking", "busy: bash", "busy: thinking"]
    assert line.steps(ChildHeartbeat) == ["thinking"]
    assert line.steps(EntityStatus) == line.logged == ["thinking"]


async def test_the_same_step_is_not_reported_again() -> None:
    line, noted = await reported(["thinking"], before="thinking")
    assert (line.posted, noted) == ([], [])


async def test_what_was_reported_long_ago_is_reported_again_for_those_who_came_later() -> None:
    line, _ = await reported(["thinking"], before="thinking", age_seconds=61.0)
    assert line.steps(EntityStatus) == ["thinking"]
    assert line.logged == []
