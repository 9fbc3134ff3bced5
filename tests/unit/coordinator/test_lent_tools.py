"""A worker that may not lead gives no tools of servers to a node, whatever its process sends."""

from pathlib import Path
from typing import Any, cast

from actors.coordinator.worker_requests import WorkerRequestHandler
from agiraph.board import commands as c
from agiraph.core.specs import WorkerSpec
from agiraph.messages.board import CreateNodeMessage, NodeCreatedReply
from agiraph.messages.control import RefusedReply
from tests.fakes.fake_runtime import FakeRuntime, arrived
from tests.unit.coordinator.runs.test_role_lead import LedTeam


async def test_only_a_leading_worker_lends_server_tools_to_a_node(tmp_path: Path) -> None:
    team = LedTeam(tmp_path)
    line = cast(FakeRuntime, team.context.runtime)
    handler = WorkerRequestHandler(team.context, team.service, cast(Any, None))
    for name, can_lead in (("ada", False), ("boss", True)):
        team.service.execute(c.SpawnWorker(f"w-{name}", WorkerSpec(name=name, can_lead=can_lead)))
    addresses = {one.name: f"shop/{one.id}" for one in team.service.board.workers.values()}

    async def create(name: str, number: int, tools: tuple[str, ...]) -> object:
        body = CreateNodeMessage(task="t", name=f"n{number}", tools=tools, cause=f"c{number}")
        received = arrived(body, addresses[name], to="shop/coordinator")
        await handler.handle(received)
        return next(one.body for one in line.sent if one.reply_to == received.header.id)

    refused = await create("ada", 1, ("priv__ask",))
    assert isinstance(refused, RefusedReply)
    assert "you cannot give tools of servers" in refused.reason
    assert not team.service.board.nodes
    assert isinstance(await create("ada", 2, ("bash",)), NodeCreatedReply)
    assert isinstance(await create("boss", 3, ("priv__ask",)), NodeCreatedReply)
