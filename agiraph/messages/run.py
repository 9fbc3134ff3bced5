"""Run: another goal for an agent whose run has ended."""

from pydantic import Field

from agiraph.core.ids import RunId
from agiraph.core.models import Mode
from agiraph.core.money import RunTerms
from agiraph.messages.body import Body


class BeginRun(Body):
    """Work on this goal in a new run. Human gateway to coordinator; `control.ok` once recorded.

    Refused while a run is running, unless `abandon` permits giving it up. Fields that are None
    stay as in the previous run; the budget is that of this run alone. `run` is its id, chosen
    by the coordinator if it is None; `cause` describes what began it, `trigger` is the trigger
    that did.
    """

    TYPE = "run.begin"
    DURABLE = True
    goal: str
    run: RunId | None = None
    mode: Mode | None = None
    model: str | None = None
    worker_model: str | None = None
    input_dir: str | None = None
    plan: str | None = None
    budget_usd: float | None = None
    terms: RunTerms = Field(default_factory=RunTerms)
    cause: str = ""
    trigger: str = ""
    cycle_seconds: float | None = None
    abandon: bool = False
