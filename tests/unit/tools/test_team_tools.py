"""The tools that speak to the team: what reaches the ports and what the model reads."""

import json
from pathlib import Path

import pytest

from tests.unit.tools.desk import Desk


async def test_a_message_carries_its_call_and_its_mode(desk: Desk) -> None:
    result = await desk.call("send_message", to="ada", content="look", mode="interrupt")
    assert result.content == "Sent to ada."
    assert desk.team.asked == [("send_message", "call-1", "ada", "look", "interrupt")]


async def test_messages_come_as_text(desk: Desk) -> None:
    assert (await desk.call("check_messages")).content == "No new messages."
    desk.team.arrived = ["[Message from ada]: a", "[Message from ben]: b"]
    assert "ada]: a\n\n[Message" in (await desk.call("check_messages")).content


async def test_a_result_of_the_team_is_what_the_model_reads(desk: Desk) -> None:
    assert (await desk.call("ask_human", question="colour?")).content == "blue"
    published = await desk.call("publish", summary="done")
    assert json.loads(published.content) == {"published": ["report.md"]}


async def test_a_node_may_be_created_and_waited_for_in_one_call(desk: Desk) -> None:
    plain = await desk.call("create_work_node", task="dig")
    waited = await desk.call("create_work_node", task="dig", wait=True)
    assert json.loads(plain.content) == {"node_id": "abc123", "name": "node", "status": "pending"}
    assert json.loads(waited.content)["nodes"] == [{"id": "abc123", "status": "completed"}]
    assert desk.team.asked[-1] == ("wait", "call-1", ("abc123",))


@pytest.mark.parametrize("given", [["a", "b"], '["a", "b"]'])
async def test_lists_of_names_are_taken_as_models_write_them(desk: Desk, given: object) -> None:
    await desk.call("create_work_node", task="t", dependencies=given, refs=None)
    await desk.call("wait", nodes=given)
    [(_, _, node), waited] = desk.team.asked
    assert (node.refs, node.dependencies) == ({}, ("a", "b"))
    assert waited == ("wait", "call-1", ("a", "b"))


async def test_waiting_for_nothing_in_particular_names_no_nodes(desk: Desk) -> None:
    result = json.loads((await desk.call("wait")).content)
    assert result["interrupted_by_message"] is False
    await desk.call("wait", nodes=None)
    await desk.call("wait", nodes="ada")
    assert [asked[2] for asked in desk.team.asked] == [(), (), ("ada",)]


async def test_a_worker_is_spawned_with_memory_as_text_or_object(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "coordinator")
    await desk.call("spawn_worker", name="ada", role="surveyor", memory={"a": 1})
    await desk.call("spawn_worker", name="ben", tools=["bash"], memory=None)
    ada, ben = (asked[2] for asked in desk.team.asked)
    assert (ada.name, ada.role, ada.memory) == ("ada", "surveyor", '{\n  "a": 1\n}')
    assert (ben.tools, ben.memory) == (("bash",), "")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("assign_worker", {"node_id": "n", "worker_id": "w"}),
        ("retire_worker", {"worker_id": "w"}),
        ("cancel_node", {"node_id": "n"}),
        ("reconvene", {"assessment": "good"}),
        ("check_board", {}),
        ("spawn_worker", {"name": "ada"}),
    ],
)
async def test_structured_results_are_one_json_object(
    tmp_path: Path, tool: str, arguments: dict[str, object]
) -> None:
    result = await Desk(tmp_path, "coordinator").call(tool, **arguments)
    assert isinstance(json.loads(result.content), dict)


async def test_an_empty_summary_is_refused(tmp_path: Path) -> None:
    assert (await Desk(tmp_path / "a").call("publish", summary="")).is_error
    assert (await Desk(tmp_path / "b", "coordinator").call("finish", summary="")).is_error
