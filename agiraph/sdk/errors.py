"""The errors of the Python API; each is an `agiraph.AgiraphError`, like all errors of Agiraph.

AgiraphError
├── InvalidInput        an invalid task, plan or option
├── RunFailed           the run ended without its goal; `result` has its partial results
│   ├── RunTimeout          it was stopped at its timeout
│   ├── DeadlockError       nodes wait for each other in a cycle
│   └── OutputInvalid       the answer does not fit the task's format
├── NotReachable        no gateway answers on the home
└── SupervisorFailed    the supervisor did not start
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agiraph.board.failure_class import FailureClass
from agiraph.core.errors import AgiraphError

if TYPE_CHECKING:
    from agiraph.sdk.result import NodeFailure, Result


class RunFailed(AgiraphError):
    """A run ended without its goal: `result` has its graph, log, usage and failed nodes.

    `failure_class` is the machine-readable cause.
    """

    failure_class: FailureClass = "other"

    def __init__(self, reason: str, result: "Result[Any] | None" = None) -> None:
        super().__init__(reason)
        self.result: Result[Any] | None = result

    @property
    def failures(self) -> "tuple[NodeFailure, ...]":
        """The nodes that failed."""
        return self.result.failures if self.result is not None else ()


class RunTimeout(RunFailed):
    """The run did not end within its timeout and was stopped."""

    failure_class = "timeout"


class OutputInvalid(RunFailed):
    """The answer of the run does not fit the `output_format` of its task."""

    failure_class = "output"


class DeadlockError(RunFailed):
    """Nodes wait for each other forever: `cycle` has their names, each blocked by the next."""

    failure_class = "deadlock"

    def __init__(
        self, cycle: Sequence[str], text: str = "", result: "Result[Any] | None" = None
    ) -> None:
        shown = " -> ".join((*cycle, *cycle[:1]))
        super().__init__(f"deadlock: {shown}" + (f" ({text})" if text else ""), result)
        self.cycle: tuple[str, ...] = tuple(cycle)
