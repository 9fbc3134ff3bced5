"""A node's time: it continues through restarts, and is suspended during waits."""

import asyncio
from pathlib import Path

import pytest

from actors.worker.context import NodeDeadline
from agiraph.agent.conversation import Conversation
from agiraph.agent.records import (
    AssignmentTaken,
    CallFinished,
    CallStarted,
    InputReceived,
    ModelAnswered,
)
from agiraph.agent.worktime import AWAY_SECONDS
from agiraph.core.ids import NodeId, RunId
from agiraph.core.models import Assignment, StageContract, WorkNode
from agiraph.core.turns import ToolCall

START = 1000.0


def taken_up(folder: Path) -> Conversation:
    """Return the conversation of a worker that has taken up a node at START."""
    node = WorkNode(id=NodeId("n"), name="n", role="worker", task="x", stage=0)
    assignment = Assignment(node=node, spec="x", contract=StageContract(), attempt=1, goal="g")
    conversation = Conversation(folder / "conversation.jsonl")
    conversation.append(
        AssignmentTaken(
            content="# Assignment: n", run=RunId("r"), assignment=assignment, message="m", ts=START
        )
    )
    return conversation


def says(tool: str, at: float, **arguments: object) -> tuple[ModelAnswered, CallStarted]:
    call = ToolCall(id=f"{tool}-{at}", name=tool, arguments=arguments)
    return ModelAnswered(tool_calls=(call,), ts=at), CallStarted(call_id=call.id, name=tool, ts=at)


def answer(name: str, asked: float, at: float) -> CallFinished:
    return CallFinished(call_id=f"{name}-{asked}", name=name, content="ok", ts=at)


async def left(conversation: Conversation, now: float, seconds: float = 300.0) -> float:
    """Return the remaining time of the node of a worker that is started again."""
    deadline = NodeDeadline.of_node(conversation, seconds, now)
    async with deadline:
        return deadline.remaining_seconds


def reopened(conversation: Conversation) -> Conversation:
    conversation.close()
    return Conversation(conversation.path)


async def test_restart_does_not_extend_the_time_of_a_node(tmp_path: Path) -> None:
    conversation = taken_up(tmp_path)
    assert round(await left(conversation, START)) == 300
    conversation.append(InputReceived(content="x", from_name="runtime", ts=START + 100))
    assert round(await left(reopened(conversation), START + 110)) == 190


async def test_node_time_is_suspended_while_waiting_for_the_human_or_nodes(
    tmp_path: Path,
) -> None:
    conversation = taken_up(tmp_path)
    conversation.append(*says("ask_human", START + 10))
    assert round(await left(reopened(conversation), START + 100_000)) == 290
    conversation = Conversation(conversation.path)
    conversation.append(answer("ask_human", START + 10, START + 100_000))
    conversation.append(*says("bash", START + 100_005))
    assert round(await left(conversation, START + 100_025)) == 265


async def test_downtime_counts_once_and_for_a_minute_at_most(tmp_path: Path) -> None:
    conversation = taken_up(tmp_path)
    night = START + 30_000
    assert round(await left(reopened(conversation), night)) == 300 - AWAY_SECONDS
    conversation = Conversation(conversation.path)
    conversation.append(InputReceived(content="x", from_name="runtime", ts=night + 5))
    assert round(await left(reopened(conversation), night + 10)) == 300 - AWAY_SECONDS - 10


async def test_expired_node_time_ends_the_work_at_once(tmp_path: Path) -> None:
    conversation = taken_up(tmp_path)
    conversation.append(InputReceived(content="x", from_name="runtime", ts=START + 400))
    with pytest.raises(TimeoutError):
        async with NodeDeadline.of_node(conversation, 300.0, START + 401):
            await asyncio.Event().wait()


async def test_late_cleanup_of_a_wait_does_not_change_an_ended_deadline() -> None:
    deadline, cleaning = NodeDeadline(300.0), asyncio.Event()

    async def wait_and_clean_up() -> None:
        with deadline.standing_still():
            await cleaning.wait()

    async with deadline:
        waiting = asyncio.create_task(wait_and_clean_up())
        await asyncio.sleep(0)
    cleaning.set()
    await waiting


async def test_node_time_passes_while_waiting_for_a_message(tmp_path: Path) -> None:
    conversation = taken_up(tmp_path)
    conversation.append(*says("wait", START + 10))
    assert round(await left(reopened(conversation), START + 110)) == 190
    conversation = Conversation(conversation.path)
    conversation.append(answer("wait", START + 10, START + 210))
    assert round(await left(conversation, START + 210)) == 90


@pytest.mark.parametrize(("asked", "most"), [({}, 600), ({"timeout_seconds": 30}, 30)])
async def test_downtime_while_waiting_for_a_message_counts_for_that_wait_at_most(
    tmp_path: Path, asked: dict[str, object], most: int
) -> None:
    conversation = taken_up(tmp_path)
    conversation.append(*says("wait", START + 10, **asked))
    night = START + 30_000
    assert round(await left(reopened(conversation), night, 1800.0)) == 1790 - most
    conversation = Conversation(conversation.path)
    conversation.append(answer("wait", START + 10, night + 5))
    assert round(await left(conversation, night + 5, 1800.0)) == 1790 - most - 5


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("wait", {"nodes": ["part"]}), ("create_work_node", {"name": "part", "wait": True})],
)
async def test_node_time_is_suspended_while_waiting_for_named_nodes(
    tmp_path: Path, name: str, arguments: dict[str, object]
) -> None:
    conversation = taken_up(tmp_path)
    conversation.append(*says(name, START + 10, **arguments))
    assert round(await left(reopened(conversation), START + 100_000)) == 290


async def test_node_time_is_suspended_in_any_wait_of_a_worker_with_sub_nodes(
    tmp_path: Path,
) -> None:
    conversation = taken_up(tmp_path)
    conversation.append(*says("create_work_node", START))
    conversation.append(answer("create_work_node", START, START + 5))
    conversation.append(*says("wait", START + 10))
    assert round(await left(reopened(conversation), START + 100_000)) == 290
