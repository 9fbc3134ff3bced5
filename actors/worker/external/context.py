"""ExternalAgentContext: the worker, as far as the outside agent that works in it needs
to know it."""

from typing import Protocol

from actors.entity.args import WorkerArgs
from actors.entity.budget_approval import BudgetApproval
from actors.worker.files import WorkerFiles
from actors.worker.limits import WorkerLimits
from actors.worker.scope_cache import ScopeCache
from actors.worker.worker_tools import WorkerToolsContext
from agiraph.agent.loop import ApprovalRequest, PauseSwitch
from agiraph.agent.transcript import OpenCall
from agiraph.core.money import Shortage
from agiraph.storage.home import RunHome


class ExternalAgentContext(WorkerToolsContext, Protocol):
    """One worker of the type `autonomous`.

    `shortage` is which budget its agent's last calls have lacked, None if they lacked none; `low`
    which bound of its node they are near, until the agent is told; `unpublished` name patterns of
    what stands in scratch/ and is no result.
    """

    args: WorkerArgs
    run_home: RunHome
    files: WorkerFiles
    gate: PauseSwitch
    reach: ScopeCache
    limits: WorkerLimits
    budget_approval: BudgetApproval
    shortage: Shortage | None
    low: Shortage | None
    unpublished: tuple[str, ...]

    def approval_gate(self, opened: OpenCall | None) -> ApprovalRequest | None:
        """Return what has to be asked before something is done, None: nothing."""
        ...
