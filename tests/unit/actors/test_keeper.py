"""A keeper and what may happen in an order that nobody expects."""

import asyncio
from pathlib import Path

from actors.supervisor.keeper import Keeper
from actors.supervisor.launcher import Spawned
from actors.supervisor.restarts import Exit, Policy
from agiraph.ids import Address
from agiraph.messages import Cause, ChildSpec

ADDRESS = Address("shop/ada")
NOBODY = 2**30


class Quick:
    """A household whose children are ready before their launcher tells of them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.parked = asyncio.Event()
        self.ended: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self.keeper = Keeper(ChildSpec(address=ADDRESS, kind="worker"), self)

    def policy(self, spec: ChildSpec) -> Policy:
        return Policy(restart="transient", intensity=5, period_seconds=60)

    def allot(self, address: str) -> int:
        return 7

    async def launch(self, spec: ChildSpec, incarnation: int) -> Spawned:
        self.keeper.ready(incarnation)
        return Spawned(pid=NOBODY, ended=self.ended)

    def ask_to_stop(self, address: str) -> bool:
        return False

    def changed(self, keeper: Keeper, cause: str | None) -> None:
        if keeper.state == "parked":
            self.parked.set()

    def crashed(self, keeper: Keeper, why: Cause) -> None:
        pass

    async def step_down(self, keeper: Keeper) -> None:
        pass

    def broken(self, address: str, error: BaseException) -> None:
        raise error


def test_one_that_is_ready_before_its_launcher_has_told_of_it_is_ready(tmp_path: Path) -> None:
    async def story() -> None:
        house = Quick(tmp_path)
        await house.keeper.start()
        assert await asyncio.wait_for(house.keeper.wait_ready(), 5)
        house.ended.set_result(Exit(code=77))
        await asyncio.wait_for(house.parked.wait(), 5)

    asyncio.run(story())
