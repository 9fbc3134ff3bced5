"""Hand: the worker, as far as the outside agent that works in it needs to know it."""

from typing import Protocol

from actors.entity.args import WorkerArgs
from actors.entity.treasurer import Treasurer
from actors.worker.bench import Holder
from actors.worker.files import WorkerFiles
from actors.worker.limits import Limits
from actors.worker.reach import Reach
from agiraph.agent.loop import Asking, Gate
from agiraph.agent.transcript import OpenCall
from agiraph.money import Shortage
from agiraph.storage.home import RunHome


class Hand(Holder, Protocol):
    """One worker of the type `autonomous`.

    `shortage` is which budget its agent's last calls have lacked, None if they lacked none; `low`
    which bound of its node they are near, until the agent is told; `unpublished` name patterns of
    what stands in scratch/ and is no result.
    """

    args: WorkerArgs
    run_home: RunHome
    files: WorkerFiles
    gate: Gate
    reach: Reach
    limits: Limits
    treasurer: Treasurer
    shortage: Shortage | None
    low: Shortage | None
    unpublished: tuple[str, ...]

    def clearance(self, opened: OpenCall | None) -> Asking | None:
        """Return what has to be asked before something is done, None: nothing."""
        ...
