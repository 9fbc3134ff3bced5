"""Result: the result of a run: its output, files, log, usage, and the nodes that failed."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from agiraph.board.failure_class import FailureClass, failure_class
from agiraph.board.plans.graph import Graph
from agiraph.core.turns import Usage
from agiraph.http.api.work import BoardView, EventView

Out = TypeVar("Out")


@dataclass(frozen=True, slots=True)
class NodeFailure:
    """Why a node failed: its name, the reason in a sentence, and its last lines of output.

    `last_lines` are from the worker's process or its error (a traceback, if there was one).
    """

    node: str
    reason: str
    last_lines: str = ""
    attempt: int = 1

    @property
    def failure_class(self) -> FailureClass:
        """The kind of the failure, derived from its reason."""
        return failure_class(self.reason)

    def __str__(self) -> str:
        lines = f"\n{self.last_lines}" if self.last_lines else ""
        return f"{self.node} ({self.failure_class}): {self.reason}{lines}"


class RunLog(tuple[EventView, ...]):
    """The events of a run, in order; as text one line each."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(_line, self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(Generic[Out]):
    """The result of a run.

    `output` has the type that the task's `output_format` sets; `text` is the answer as written.
    `files` maps NODE/PATH to the file that the node published, on this machine. `usage` has tokens
    and US dollars (None: a price is not known). `board` has the final state of the nodes;
    `incomplete` names the nodes of the plan that a completed run did not complete.
    """

    output: Out
    text: str
    status: str
    agent_id: str
    run_id: str
    logs: RunLog = field(repr=False)
    usage: Usage
    files: Mapping[str, Path] = field(repr=False)
    board: BoardView = field(repr=False)
    failures: tuple[NodeFailure, ...] = ()
    incomplete: tuple[str, ...] = ()

    @property
    def graph(self) -> Graph:
        """The nodes in their final state; it can be drawn, and run again."""
        return Graph.of_nodes(self.board.nodes)


def _line(event: EventView) -> str:
    at = time.strftime("%H:%M:%S", time.localtime(event.ts))
    return f"{at} {event.type} {event.who}: {event.text}"
