"""ChangeSignal: wakes everyone who waits for the board to change."""

import asyncio
from collections.abc import Callable


class ChangeSignal:
    """A bell: `ring` wakes all who wait; whoever waits looks again for itself."""

    def __init__(self) -> None:
        """Make a bell that nobody waits for."""
        self._bell = asyncio.Event()

    def ring(self) -> None:
        """Wake everyone."""
        self._bell.set()
        self._bell = asyncio.Event()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until `is_so`, looking after every ring."""
        while not is_so():
            await self._bell.wait()
