"""Tasks beside an actor's main work: their errors are raised there."""

import asyncio

import pytest

from agiraph.core.concurrency import BackgroundTasks, first_to_end


async def raises() -> None:
    raise OSError("no space")


async def test_failed_background_task_ends_the_main_work() -> None:
    side = BackgroundTasks()
    side.start(raises())
    with pytest.raises(OSError, match="no space"):
        await first_to_end(asyncio.Event().wait(), side.until_broken())


async def test_finished_or_stopped_background_task_breaks_nothing() -> None:
    side = BackgroundTasks()
    side.start(asyncio.sleep(0))
    endless = side.start(asyncio.Event().wait())  # type: ignore[arg-type]
    await asyncio.sleep(0)
    await side.stop()
    watching = asyncio.ensure_future(side.until_broken())
    await asyncio.sleep(0)
    assert not watching.done()
    assert endless.cancelled()
    watching.cancel()
