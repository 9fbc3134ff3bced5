"""Scheduler and Executor: run a manually built graph without changing it."""

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

GOAL: Final = "Carry out the plan, and summarize its results."


class Scheduler:
    """A checked graph, and the order in which its nodes may begin.

    Raises DeadlockError for nodes that wait for each other in a cycle, InvalidInput for all other
    problems that prevent its execution.
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
        """Return the ids of the nodes that may begin after the `completed` ones. Raises
        InvalidInput.
        """
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
    """Runs the graph of a scheduler, without a leading model.

    The output is the summary of the graph's last node, or of each last node below its name; with
    `summary` the coordinator's model is called once for it. A node that is not completed fails the
    run, unless it is `optional`. If the graph has managers, the coordinator's model answers the
    workers' messages to it. The other arguments are those of `Runtime`.
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
        """Run the scheduler's graph and return the result. Raises as `Runtime.run`."""
        return self._runtime.run(self._task(scheduler))

    async def arun(self, scheduler: Scheduler) -> Result[str]:
        """Run the scheduler's graph from an event loop and return the result.

        Raises as `Runtime.run`.
        """
        return await self._runtime.arun(self._task(scheduler))

    def run_stream(self, scheduler: Scheduler) -> Generator[RunEvent, None, None]:
        """Run the scheduler's graph and yield its events, as `Runtime.run_stream`."""
        return self._runtime.run_stream(self._task(scheduler))

    def arun_stream(self, scheduler: Scheduler) -> AsyncGenerator[RunEvent, None]:
        """Run the scheduler's graph and yield its events, as `Runtime.arun_stream`."""
        return self._runtime.arun_stream(self._task(scheduler))

    def _task(self, scheduler: Scheduler) -> Task[str]:
        if not isinstance(scheduler, Scheduler):
            raise InvalidInput(f"{scheduler!r:.80} is no scheduler (possible: Scheduler(graph))")
        task = Task(scheduler.graph.goal or GOAL, plan=scheduler.graph)
        task.terms = {"leader": "plan", "summary": self._summary}
        return task
