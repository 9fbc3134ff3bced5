"""Agiraph: a goal becomes a team of AI agents, each an operating-system process of its own.

    from agiraph import Runtime, Task

    result = Runtime("anthropic/claude-sonnet-4-5").run(Task("Compare them", input="papers"))
    print(result.output)

docs/python.md has more. Importing this package imports nothing else; each name is imported at its
first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agiraph.board.plans.graph import Graph, Node
    from agiraph.core.errors import AgiraphError, InvalidInput
    from agiraph.core.specs import ForEach
    from agiraph.http.errors import ApiError, NotReachable
    from agiraph.http.own_supervisor import SupervisorFailed
    from agiraph.sdk.agentic_team import AgenticTeamMCPClient
    from agiraph.sdk.errors import (
        DeadlockError,
        OutputInvalid,
        RunFailed,
        RunTimeout,
    )
    from agiraph.sdk.events import (
        DeadlockNoticed,
        MessageSent,
        NodeComplete,
        NodeFailed,
        NodeStart,
        QuestionAsked,
        RunEnd,
        RunEvent,
        RunStart,
        TextWritten,
    )
    from agiraph.sdk.executor import Executor, Scheduler
    from agiraph.sdk.functions import tool
    from agiraph.sdk.result import NodeFailure, Result, RunLog
    from agiraph.sdk.runtime import Runtime
    from agiraph.sdk.task import Task
    from agiraph.sdk.team import Role, team

__version__ = "0.1.0"

_EVENTS = "agiraph.sdk.events"
_ERRORS = "agiraph.sdk.errors"
_PLACES = {
    "AgenticTeamMCPClient": "agiraph.sdk.agentic_team",
    "AgiraphError": "agiraph.core.errors",
    "ApiError": "agiraph.http.errors",
    "DeadlockError": _ERRORS,
    "DeadlockNoticed": _EVENTS,
    "Executor": "agiraph.sdk.executor",
    "ForEach": "agiraph.core.specs",
    "Graph": "agiraph.board.plans.graph",
    "InvalidInput": "agiraph.core.errors",
    "MessageSent": _EVENTS,
    "Node": "agiraph.board.plans.graph",
    "NodeComplete": _EVENTS,
    "NodeFailed": _EVENTS,
    "NodeFailure": "agiraph.sdk.result",
    "NodeStart": _EVENTS,
    "NotReachable": "agiraph.http.errors",
    "OutputInvalid": _ERRORS,
    "QuestionAsked": _EVENTS,
    "Result": "agiraph.sdk.result",
    "Role": "agiraph.sdk.team",
    "RunEnd": _EVENTS,
    "RunEvent": _EVENTS,
    "RunFailed": _ERRORS,
    "RunLog": "agiraph.sdk.result",
    "RunStart": _EVENTS,
    "RunTimeout": _ERRORS,
    "Runtime": "agiraph.sdk.runtime",
    "Scheduler": "agiraph.sdk.executor",
    "SupervisorFailed": "agiraph.http.own_supervisor",
    "Task": "agiraph.sdk.task",
    "TextWritten": _EVENTS,
    "team": "agiraph.sdk.team",
    "tool": "agiraph.sdk.functions",
}

__all__ = [
    "AgenticTeamMCPClient",
    "AgiraphError",
    "ApiError",
    "DeadlockError",
    "DeadlockNoticed",
    "Executor",
    "ForEach",
    "Graph",
    "InvalidInput",
    "MessageSent",
    "Node",
    "NodeComplete",
    "NodeFailed",
    "NodeFailure",
    "NodeStart",
    "NotReachable",
    "OutputInvalid",
    "QuestionAsked",
    "Result",
    "Role",
    "RunEnd",
    "RunEvent",
    "RunFailed",
    "RunLog",
    "RunStart",
    "RunTimeout",
    "Runtime",
    "Scheduler",
    "SupervisorFailed",
    "Task",
    "TextWritten",
    "team",
    "tool",
]


def __getattr__(name: str) -> Any:
    """Import and return a name of the Python API at its first use. Raises AttributeError."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
