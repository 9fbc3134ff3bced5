"""Failure classes: the machine-readable cause of the failure of a run or a node; pure.

The class follows from the beginning of the reason, which Agiraph writes. Texts of a model, an agent
or a command come after it and have no influence.
"""

import re
from typing import Final, Literal

from agiraph.core.models import ServiceOutage

FailureClass = Literal[
    "timeout",
    "iterations",
    "budget",
    "model",
    "process",
    "dependency",
    "checks",
    "loop",
    "plan",
    "deadlock",
    "standstill",
    "service",
    "output",
    "other",
]

SIGNS: Final[dict[FailureClass, re.Pattern[str]]] = {
    "dependency": re.compile(r"its dependency '"),
    "process": re.compile(
        r"its worker '.*' was lost: |.* cannot be started: |the same step has ended its process "
    ),
    "timeout": re.compile(r"the node's time of .* is over"),
    "iterations": re.compile(
        r"the (node's|coordinator's) \d+ model turns are used up"
        r"|the team has not finished: its \d+ turns are used up"
    ),
    "budget": re.compile(
        r"\S+ of the node's .* are (used|spent)"
        r"|the model cannot be asked \((out_of_budget|no_credit)\)"
    ),
    "checks": re.compile(r"\[not published\] \d+ of \d+ checks"),
    "model": re.compile(
        "the model cannot be asked |the model answered without|the model gave no answer"
        "|its answer does not fit|the coordinator stopped without finishing"
        "|the team has not finished: its lead failed"
    ),
    "loop": re.compile("a loop: the same call "),
    "plan": re.compile(
        "no plan was made: |its plan was refused|the plan cannot be followed: "
        "|nodes of the plan were not completed: |the coordinator gave up nodes of the plan: "
    ),
    "deadlock": re.compile("deadlock: "),
    "standstill": re.compile("the run stood still"),
    "service": re.compile("the run is suspended: "),
    "output": re.compile("the final answer does not fit "),
}
"""How the reasons of each class begin, as the board, coordinators and workers write them."""


def failure_class(reason: str) -> FailureClass:
    """Return the class of a failure with this reason, 'other' if no class fits."""
    found = (name for name, begins in SIGNS.items() if begins.match(reason))
    return next(found, "other")


def class_of(status: str, reason: str | None) -> FailureClass | None:
    """Return the class of the failure of a run or node, None if it has not failed.

    A failure without a reason is a lost process.
    """
    if status != "failed":
        return None
    return "process" if reason is None else failure_class(reason)


def suspended_by(outage: ServiceOutage) -> str:
    """Return the reason that is recorded for a run which the outage of a service suspends."""
    return f"the run is suspended: {outage.text}"
