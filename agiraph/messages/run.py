"""Run: an agent that has come to its run's end is given another goal."""

from agiraph.core.ids import RunId
from agiraph.core.models import Mode
from agiraph.core.money import RunTerms
from agiraph.messages.body import Body


class BeginRun(Body):
    """Work on this goal, in a new run. Human gateway to a coordinator; `control.ok` when it stands.

    Refused while a run is running, unless `abandon` says that it is to be given up. What is None
    stays as it was in the run before; the budget is this run's own. `run` is its id, made by the
    coordinator if it is None; `cause` says in words what began it, `trigger` which trigger did.
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
    terms: RunTerms = RunTerms()
    cause: str = ""
    trigger: str = ""
    cycle_seconds: float | None = None
    abandon: bool = False
