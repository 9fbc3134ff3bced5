"""ExternalAgentContext: what an external agent's runner needs of its worker."""

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
    """A worker of the type `autonomous`.

    `shortage` is which budget its agent's last calls have lacked, `low` which limit of its node
    they are near, until the agent is warned; `unpublished` are name patterns of what is in scratch/
    and is not part of the result.
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
