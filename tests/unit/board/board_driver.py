"""BoardDriver: a board in memory that executes commands, with short names for tests."""

from typing import Any

import pytest

from agiraph.board.board import Board, fold
from agiraph.board.commands import (
    AssignNode,
    Command,
    CompleteNode,
    CreateNode,
    FailNode,
    SpawnWorker,
    StartNode,
    StartRun,
)
from agiraph.board.decide import decide
from agiraph.board.events import BoardEvent
from agiraph.board.plans.plan import parse_plan, plan_commands
from agiraph.board.scheduler import Action, SchedulingLimits, plan
from agiraph.core.errors import IllegalTransition
from agiraph.core.models import NodeResult, Worker, WorkNode
from agiraph.core.specs import NodeSpec, StageTerms, WorkerSpec


class BoardDriver:
    """A board and the count of commands, which serves as the time."""

    def __init__(self, **terms: Any) -> None:
        self.board = Board()
        self.now = 0.0
        terms = {"max_nodes": 50, "max_workers": 50, **terms}
        begin = {"run_id": "r1", "goal": "the goal", "model": "a/b", "worker_model": "c/d"}
        self.do(StartRun.model_validate({**begin, **terms}))

    def do(self, command: Command) -> list[str]:
        return [event.type for event in self.events(command)]

    def events(self, command: Command) -> tuple[BoardEvent, ...]:
        self.now += 1
        happened = decide(self.board, command, self.now)
        self.board = fold(happened, self.board)
        return happened

    def refuses(
        self, command: Command, why: str, error: type[Exception] = IllegalTransition
    ) -> None:
        with pytest.raises(error, match=why):
            self.do(command)

    def node(
        self,
        name: str,
        *needs: str,
        parent: str | None = None,
        stage: StageTerms | None = None,
        trigger: str = "",
        **asked: Any,
    ) -> None:
        given = {"task": f"do {name}", "name": name, "dependencies": needs, **asked}
        spec = NodeSpec.model_validate(given)
        self.do(CreateNode(f"c-{name}", spec, parent, stage, trigger=trigger))

    def fill(self, plan: str) -> None:
        for command in plan_commands(parse_plan(plan)):
            self.do(command)

    def worker(self, name: str, role: str = "worker") -> None:
        self.do(SpawnWorker(f"w-{name}", WorkerSpec(name=name, role=role)))

    def assign(self, node: str, worker: str) -> None:
        self.do(AssignNode(node, worker))

    def run(self, node: str, worker: str) -> None:
        self.assign(node, worker)
        self.do(StartNode(node, worker, 1))

    def busy(self, node: str, worker: str) -> None:
        self.worker(worker)
        self.node(node)
        self.run(node, worker)

    def complete(self, node: str, worker: str) -> None:
        self.run(node, worker)
        self.done(node, summary=f"{node} is done", files=(f"{node}.md",))

    def done(self, node: str, summary: str = "done", **result: Any) -> None:
        self.do(CompleteNode(node, 1, NodeResult(summary=summary, **result)))

    def fail(self, node: str) -> None:
        self.do(FailNode(node, None, "it went wrong"))

    def plan(self, max_concurrent: int = 4) -> tuple[Action, ...]:
        return plan(self.board, SchedulingLimits(max_concurrent))

    def settle(self, max_concurrent: int = 4) -> None:
        while actions := self.plan(max_concurrent):
            for action in actions:
                self.do(action)

    def at(self, name: str) -> WorkNode:
        return next(node for node in self.board.nodes.values() if node.name == name)

    def who(self, name: str) -> Worker:
        return next(worker for worker in self.board.workers.values() if worker.name == name)
