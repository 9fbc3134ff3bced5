"""What runs beside an actor's main work: its errors are not kept to itself."""

import asyncio

import pytest

from actors.runtime.background_tasks import BackgroundTasks, first_to_end


async def raises() -> None:
    raise OSError("no space")


def test_what_breaks_beside_ends_the_main_work() -> None:
    async def scene() -> None:
        side = BackgroundTasks()
        side.start(raises())
        await first_to_end(asyncio.Event().wait(), side.until_broken())

    with pytest.raises(OSError, match="no space"):
        asyncio.run(scene())


def test_what_ends_well_or_is_stopped_breaks_nothing() -> None:
    async def scene() -> bool:
        side = BackgroundTasks()
        side.start(asyncio.sleep(0))
        endless = side.start(asyncio.Event().wait())  # type: ignore[arg-type]
        await asyncio.sleep(0)
        await side.stop()
        watching = asyncio.ensure_future(side.until_broken())
        await asyncio.sleep(0)
        is_quiet = not watching.done()
        watching.cancel()
        return is_quiet and endless.cancelled()

    assert asyncio.run(scene())
