"""The board's effects: a node's folder exists before its worker gets the node."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from actors.coordinator.prior_work import PriorWorkLookup
from actors.entity.args import CoordinatorArgs
from actors.runtime.runtime import Runtime
from agiraph.agent.inbox import EntityInbox
from agiraph.board import commands as c
from agiraph.core.ids import AgentId, RunId
from agiraph.core.models import Agent
from agiraph.core.specs import NodeSpec, WorkerSpec
from agiraph.messages.child import ChildStarted, StartChild
from agiraph.messages.knowledge import EarlierWorkFound, FindEarlierWork
from agiraph.messages.node import AssignNodeMessage
from tests.fakes.fake_runtime import FakeRuntime


@pytest.mark.parametrize("started", ["before the node", "with the node"])
async def test_folder_of_a_node_exists_before_its_worker_is_notified(
    tmp_path: Path, started: str
) -> None:
    runtime: Any = FakeRuntime(tmp_path)
    runtime.address = "shop/coordinator"
    about = {"id": AgentId("shop"), "name": "shop", "goal": "x", "model": "a/b"}
    more = {"worker_model": "a/b", "created_at": 0.0, "updated_at": 0.0}
    args = CoordinatorArgs(agent=Agent.model_validate(about | more), run=RunId("r1"))
    context = CoordinatorContext(cast(Runtime, runtime), args, {}, EntityInbox())
    service = BoardService(context, {}, lambda *_of_event: None, PriorWorkLookup(context))
    service.execute(c.StartRun(run_id=args.run, goal="x", model="a/b", worker_model="a/b"))
    found: list[bool] = []
    send = runtime.send

    async def look_and_send(to: str, body: Any, **more: Any) -> bytes:
        if isinstance(body, AssignNodeMessage):
            folder = context.files.run.node(body.assignment.node.folder)
            found.append(folder.spec.is_file() and folder.refs.is_file())
        return cast(bytes, await send(to, body, **more))

    def create_and_start(asked: StartChild) -> ChildStarted:
        if started == "before the node":
            service.execute(c.CreateNode("2", NodeSpec(task="Do it", worker="ada")))
        return ChildStarted(address=asked.spec.address, incarnation=1)

    runtime.send, runtime.answers[StartChild] = look_and_send, create_and_start
    runtime.answers[FindEarlierWork] = lambda _: EarlierWorkFound()
    service.execute(c.SpawnWorker("1", WorkerSpec(name="ada")))
    if started == "with the node":
        service.execute(c.CreateNode("2", NodeSpec(task="Do it", worker="ada")))
    effects = asyncio.create_task(service.run_effects())
    await runtime.until(lambda: bool(found))
    effects.cancel()
    assert found == [True]
