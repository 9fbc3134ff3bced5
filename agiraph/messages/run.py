"""Run: another goal for an agent whose run has ended."""

from agiraph.core.ids import RunId
from agiraph.core.roles import RoleTeamTerms
from agiraph.core.specs import RunSpec
from agiraph.messages.body import MessageBody


class BeginRun(RunSpec, MessageBody):
    """Work on this goal in a new run. Human gateway to coordinator; `control.ok` once recorded.

    Refused while a run is running, unless `abandon` permits ending that run. Mode, models, input
    and cycles that are None stay as in the previous run; the budget is for this run alone. `run` is
    its id, chosen by the coordinator if it is None; `cause` describes the reason for the run,
    `trigger` is the trigger that began it, '' if there is none.
    """

    TYPE = "run.begin"
    DURABLE = True
    roles: RoleTeamTerms | None = None
    trigger: str = ""
    run: RunId | None = None
    cause: str = ""
    abandon: bool = False
