"""A team's turns: the next begins in the step that ends the last, unless the team is held."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from actors.coordinator.prior_work import PriorWorkLookup
from actors.coordinator.runs.role_lead import RoleTeamLead
from actors.entity.args import CoordinatorArgs
from actors.runtime.runtime import Runtime
from agiraph.agent.inbox import EntityInbox, IncomingMessage
from agiraph.board import commands as c
from agiraph.board.store import read_board
from agiraph.core.ids import HUMAN_NAME, AgentId, RunId
from agiraph.core.models import Agent, NodeResult
from agiraph.core.roles import RoleTeamTerms, roles_of
from tests.fakes.fake_runtime import FakeRuntime

LEAD, QA = "project_manager", "qa_engineer"
TEAM = roles_of({"max_turns": 6, "roles": {LEAD: {}, QA: {}}})


class LedTeam:
    """The coordinator of a team of two roles, as far as its turns need it; no process."""

    def __init__(self, home: Path, most_nodes: int = 50) -> None:
        runtime: Any = FakeRuntime(home)
        runtime.address = "shop/coordinator"
        about = {"id": AgentId("shop"), "name": "shop", "goal": "Build it", "model": "a/b"}
        team = RoleTeamTerms.model_validate(dict(TEAM))
        agent = Agent.model_validate(
            {**about, "roles": team, "worker_model": "a/b", "created_at": 0.0, "updated_at": 0.0}
        )
        args = CoordinatorArgs(agent=agent, run=RunId("r1"))
        self.context = CoordinatorContext(cast(Runtime, runtime), args, {}, EntityInbox())
        earlier = PriorWorkLookup(self.context)
        self.service = BoardService(self.context, {}, lambda *_of_event: None, earlier)
        self.lead = RoleTeamLead(self.context, self.service)
        started = c.StartRun(
            run_id=args.run, goal="Build it", model="a/b", worker_model="a/b", max_nodes=most_nodes
        )
        self.service.execute(started)

    async def begin(self) -> "asyncio.Task[None]":
        """Have the first turn begin, and be waited for."""
        step = asyncio.create_task(self.lead.step())
        async with asyncio.timeout(5):
            await self.service.changes.until(lambda: "turn-1" in self.turns)
        for _ in range(5):
            await asyncio.sleep(0)
        return step

    def complete(self, name: str) -> None:
        """Have a turn end with a message to QA."""
        board = self.service.board
        node = next(one for one in board.nodes.values() if one.name == name)
        assert node.assigned_worker is not None
        self.service.execute(c.StartNode(node.id, node.assigned_worker, node.attempt))
        value = {"action": "message", "to_role": QA, "message": f"after {name}"}
        done = NodeResult(summary="said", value=value, files=("result.json",))
        self.service.execute(c.CompleteNode(node.id, node.attempt, done))

    @property
    def turns(self) -> list[str]:
        """The turns that are on the board's journal."""
        board = read_board(self.context.files.run.journal)
        return [node.name for node in board.nodes.values()]


async def test_the_next_turn_is_journaled_with_the_end_of_the_one_before(tmp_path: Path) -> None:
    team = LedTeam(tmp_path)
    step = await team.begin()
    team.complete("turn-1")
    assert team.turns == ["turn-1", "turn-2"]
    node = list(team.service.board.nodes.values())[-1]
    assert node.status == "assigned"
    assert "after turn-1" in node.task
    await step


@pytest.mark.parametrize("held", ["paused", "leaving", "message"])
async def test_turn_does_not_begin_while_its_coordinator_is_paused_or_busy(
    tmp_path: Path, held: str
) -> None:
    team = LedTeam(tmp_path)
    step = await team.begin()
    if held == "paused":
        team.context.pause_switch.pause()
    elif held == "leaving":
        team.context.pause_switch.leaving.set()
    else:
        said = IncomingMessage("m1", HUMAN_NAME, "Use blue", "steer", done=lambda: None)
        team.context.inbox.put(said)
    team.complete("turn-1")
    assert team.turns == ["turn-1"]
    step.cancel()


async def test_turn_that_cannot_begin_ends_the_run_after_the_previous_report(
    tmp_path: Path,
) -> None:
    team = LedTeam(tmp_path, most_nodes=1)
    step = await team.begin()
    team.complete("turn-1")
    assert team.turns == ["turn-1"]
    assert team.service.board.is_running
    await step
    await team.lead.step()
    run = team.service.board.run
    assert run is not None
    assert run.status == "failed"
