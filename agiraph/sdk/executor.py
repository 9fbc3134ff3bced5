"""Scheduler and Executor: a graph that was built by hand, carried out as it stands."""

from collections.abc import AsyncGenerator, Collection, Generator
from typing import Final, Unpack

from agiraph.board.plans.graph import Graph
from agiraph.board.wait_cycles import find_cycle
from agiraph.core.errors import InvalidInput, unknown
from agiraph.sdk.errors import DeadlockError
from agiraph.sdk.events import RunEvent
from agiraph.sdk.result import Result
from agiraph.sdk.runtime import Runtime, RuntimeOptions
from agiraph.sdk.task import Task

GOAL: Final = "Carry out the plan, and sum up what came of it."


class Scheduler:
    """A checked graph, and which of its nodes may begin.

    Raises DeadlockError for nodes that wait for each other in a cycle, InvalidInput for whatever
    else keeps it from being run.
    """

    def __init__(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise InvalidInput(f"{graph!r:.80} is no graph (possible: Graph([Node(...), ...]))")
        needs = {node.id: tuple(node.deps) for node in graph.nodes}
        known = {id: tuple(one for one in deps if one in needs) for id, deps in needs.items()}
        if cycle := find_cycle(known):
            raise DeadlockError(cycle[:-1])
        graph.validate()
        self.graph: Graph = graph

    def ready(self, completed: Collection[str] = ()) -> list[str]:
        """Return the ids of the nodes that may begin once these are completed; InvalidInput."""
        ids = [node.id for node in self.graph.nodes]
        for done in completed:
            if done not in ids:
                raise unknown("node", done, ids)
        return [
            node.id
            for node in self.graph.nodes
            if node.id not in completed and {*node.deps} <= {*completed}
        ]


class Executor:
    """Carries out the graph of a scheduler, without a model that leads.

    The output is the summary of the graph's last node, of several each below its name; with
    `summary` the model of the coordinator is asked once for it. A node that is not completed fails
    the run, unless it is `optional`. If the graph has managers, what workers write to the
    coordinator is answered by its model. The other arguments are those of `Runtime`.
    """

    def __init__(
        self,
        model_provider: str | None = None,
        *,
        summary: bool = False,
        **options: Unpack[RuntimeOptions],
    ) -> None:
        self._runtime = Runtime(model_provider, **options)
        self._summary = summary

    def run(self, scheduler: Scheduler) -> Result[str]:
        """Carry it out. Raises as `Runtime.run`."""
        return self._runtime.run(self._task(scheduler))

    async def arun(self, scheduler: Scheduler) -> Result[str]:
        """Carry it out from an event loop."""
        return await self._runtime.arun(self._task(scheduler))

    def run_stream(self, scheduler: Scheduler) -> Generator[RunEvent, None, None]:
        """Carry it out and yield what happens, as `Runtime.run_stream`."""
        return self._runtime.run_stream(self._task(scheduler))

    def arun_stream(self, scheduler: Scheduler) -> AsyncGenerator[RunEvent, None]:
        """Carry it out and yield what happens, as `Runtime.arun_stream`."""
        return self._runtime.arun_stream(self._task(scheduler))

    def _task(self, scheduler: Scheduler) -> Task[str]:
        if not isinstance(scheduler, Scheduler):
            raise InvalidInput(f"{scheduler!r:.80} is no scheduler (possible: Scheduler(graph))")
        task = Task(scheduler.graph.goal or GOAL, plan=scheduler.graph)
        task.terms = {"leader": "plan", "summary": self._summary}
        return task
