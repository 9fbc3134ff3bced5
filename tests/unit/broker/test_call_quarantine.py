"""The call that ends the broker is set aside, and no other; the others are made once more."""

import asyncio
from pathlib import Path

import pytest

from actors.broker.call_quarantine import CALL_LIMIT, CallQuarantine
from actors.runtime.crash_counter import CrashCounter
from agiraph.llm.base import ProviderError

CAUSE = "hung: no heartbeat for 30 s"
GUILTY, OTHER, LATER = (f"{number:032x}" for number in (1, 2, 3))


def next_life(folder: Path, last_end: str = "") -> CallQuarantine:
    """Return the quarantine of the next incarnation; the last one ended by `last_end`."""
    return CallQuarantine(CrashCounter(folder, "broker.calls", 1, last_end, CALL_LIMIT))


async def forever(quarantine: CallQuarantine, id: str, begun: asyncio.Event) -> None:
    async with quarantine.making(id):
        begun.set()
        await asyncio.Event().wait()


async def die_with(folder: Path, quarantine: CallQuarantine, *ids: str) -> None:
    """Have these calls in flight, as far as they may be, and end without any cleaning up."""
    tasks = []
    for id in ids:
        begun = asyncio.Event()
        tasks.append(asyncio.create_task(forever(quarantine, id, begun)))
        await asyncio.wait([*tasks, asyncio.create_task(begun.wait())], timeout=0.05)
    quarantine.close()
    marker = folder / "broker.calls.taking"
    left = marker.read_bytes()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    marker.write_bytes(left)


async def test_call_in_flight_at_two_broker_exits_is_quarantined_with_the_cause(
    tmp_path: Path,
) -> None:
    await die_with(tmp_path, next_life(tmp_path), GUILTY)
    await die_with(tmp_path, next_life(tmp_path, CAUSE), GUILTY)
    third = next_life(tmp_path, CAUSE)
    with pytest.raises(ProviderError, match="ended 2 times by its own fault") as caught:
        async with third.making(GUILTY):
            pass
    assert caught.value.kind == "internal"
    assert CAUSE in str(caught.value)
    async with third.making(GUILTY):
        pass  # a person's retry


async def test_other_calls_of_a_broker_exit_run_one_at_a_time_and_are_not_blamed(
    tmp_path: Path,
) -> None:
    await die_with(tmp_path, next_life(tmp_path), GUILTY, OTHER)
    await die_with(tmp_path, next_life(tmp_path, CAUSE), GUILTY, OTHER, LATER)
    third = next_life(tmp_path, CAUSE)
    with pytest.raises(ProviderError):
        async with third.making(GUILTY):
            pass
    for innocent in (OTHER, LATER):
        async with third.making(innocent):
            pass


async def test_call_answered_after_a_broker_exit_is_forgotten(tmp_path: Path) -> None:
    await die_with(tmp_path, next_life(tmp_path), OTHER)
    second = next_life(tmp_path, CAUSE)
    async with second.making(OTHER):
        pass
    await die_with(tmp_path, second, OTHER)
    async with next_life(tmp_path, CAUSE).making(OTHER):
        pass


async def test_kills_from_outside_blame_no_call(tmp_path: Path) -> None:
    for _ in range(4):
        await die_with(tmp_path, next_life(tmp_path), OTHER)
    async with next_life(tmp_path).making(OTHER):
        pass
