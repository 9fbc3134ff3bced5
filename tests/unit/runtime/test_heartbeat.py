"""The pulse: what an actor does is told once it lasts, and noted at once."""

import asyncio
from collections.abc import Callable
from typing import Any

from actors.runtime.heartbeat import HeartbeatSender
from agiraph.messages.child import ChildHeartbeat
from agiraph.messages.event import EntityStatus


class Line:
    """An endpoint that keeps what is posted."""

    def __init__(self) -> None:
        self.posted: list[Any] = []

    def post(self, to: str, body: Any) -> None:
        self.posted.append(body)

    def of(self, kind: type) -> list[Any]:
        return [body for body in self.posted if isinstance(body, kind)]


def told(
    acts: Callable[[HeartbeatSender], None], every_seconds: float = 60.0
) -> tuple[Line, list[str]]:
    """Return what was told, and noted, of what `acts` does with a pulse."""
    line = Line()
    noted: list[str] = []

    async def scenario() -> None:
        pulse = HeartbeatSender(line, every_seconds, noted.append)  # type: ignore[arg-type]
        acts(pulse)
        due = pulse._settling.when() if pulse._settling else 0.0
        await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))
        await asyncio.sleep(0)

    asyncio.run(scenario())
    return line, noted


def busy(step: str) -> tuple[str, EntityStatus]:
    return f"busy: {step}", EntityStatus(state="busy", step=step)


def test_a_step_that_is_over_at_once_is_noted_but_not_told() -> None:
    def acts(pulse: HeartbeatSender) -> None:
        for step in ("thinking", "bash", "thinking"):
            pulse.step(*busy(step))

    line, noted = told(acts)
    assert noted == ["busy: thinking", "busy: bash", "busy: thinking"]
    assert [beat.step for beat in line.of(ChildHeartbeat)] == ["busy: thinking"]
    assert [status.step for status in line.of(EntityStatus)] == ["thinking"]


def test_the_same_again_is_no_news() -> None:
    def acts(pulse: HeartbeatSender) -> None:
        pulse._told, pulse._told_at = busy("thinking"), asyncio.get_running_loop().time()
        pulse._step, pulse._status = pulse._told
        pulse.step(*busy("thinking"))

    line, noted = told(acts)
    assert (line.posted, noted) == ([], [])


def test_what_was_told_long_ago_is_told_again_for_those_who_came_later() -> None:
    def acts(pulse: HeartbeatSender) -> None:
        pulse._told = pulse._step, pulse._status = busy("thinking")
        pulse.step(*busy("thinking"))

    line, _ = told(acts, every_seconds=0.0)
    assert [status.step for status in line.of(EntityStatus)] == ["thinking"]
