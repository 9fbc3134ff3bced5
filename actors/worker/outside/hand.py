"""Hand: the worker, as far as the outside agent that works in it needs to know it."""

from typing import Protocol

from actors.entity.args import WorkerArgs
from actors.worker.bench import Holder
from actors.worker.files import WorkerFiles
from actors.worker.limits import Limits
from actors.worker.reach import Reach
from agiraph.agent.loop import Asking, Gate
from agiraph.agent.transcript import OpenCall
from agiraph.home import RunHome


class Hand(Holder, Protocol):
    """One worker of the type `autonomous`."""

    args: WorkerArgs
    run_home: RunHome
    files: WorkerFiles
    gate: Gate
    reach: Reach
    limits: Limits

    def clearance(self, opened: OpenCall | None) -> Asking | None:
        """Return what has to be asked before something is done, None: nothing."""
        ...
