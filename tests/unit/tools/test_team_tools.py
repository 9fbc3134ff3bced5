"""The team tools: requests at the ports, and results for the model."""

import json
from pathlib import Path

import pytest

from tests.unit.tools.entity_tools import EntityTools


async def test_a_message_carries_its_call_and_its_mode(entity: EntityTools) -> None:
    result = await entity.call("send_message", to="ada", content="look", mode="interrupt")
    assert result.content == "Sent to ada."
    assert entity.team.asked == [("send_message", "call-1", "ada", "look", "interrupt")]


async def test_new_messages_are_returned_as_text(entity: EntityTools) -> None:
    assert (await entity.call("check_messages")).content == "No new messages."
    entity.team.arrived = ["[Message from ada]: a", "[Message from ben]: b"]
    assert "ada]: a\n\n[Message" in (await entity.call("check_messages")).content


async def test_result_of_the_team_is_returned_to_the_model(entity: EntityTools) -> None:
    assert (await entity.call("ask_human", question="colour?")).content == "blue"
    published = await entity.call("publish", summary="done")
    assert json.loads(published.content) == {"published": ["report.md"]}


async def test_node_is_created_and_awaited_in_one_call(entity: EntityTools) -> None:
    plain = await entity.call("create_work_node", task="dig")
    waited = await entity.call("create_work_node", task="dig", wait=True)
    assert json.loads(plain.content) == {"node_id": "abc123", "name": "node", "status": "pending"}
    assert json.loads(waited.content)["nodes"] == [{"id": "abc123", "status": "completed"}]
    assert entity.team.asked[-1] == ("wait", "call-1", ("abc123",))


@pytest.mark.parametrize("given", [["a", "b"], '["a", "b"]'])
async def test_name_lists_are_accepted_in_every_form_of_models(
    entity: EntityTools, given: object
) -> None:
    await entity.call("create_work_node", task="t", dependencies=given, refs=None)
    await entity.call("wait", nodes=given)
    [(_, _, node), waited] = entity.team.asked
    assert (node.refs, node.dependencies) == ({}, ("a", "b"))
    assert waited == ("wait", "call-1", ("a", "b"))


async def test_wait_without_arguments_names_no_nodes(entity: EntityTools) -> None:
    result = json.loads((await entity.call("wait")).content)
    assert result["interrupted_by_message"] is False
    await entity.call("wait", nodes=None)
    await entity.call("wait", nodes="ada")
    assert [asked[2] for asked in entity.team.asked] == [(), (), ("ada",)]


async def test_a_worker_is_spawned_with_memory_as_text_or_object(tmp_path: Path) -> None:
    entity = EntityTools(tmp_path, "coordinator")
    await entity.call("spawn_worker", name="ada", role="surveyor", memory={"a": 1})
    await entity.call("spawn_worker", name="ben", tools=["bash"], memory=None)
    ada, ben = (asked[2] for asked in entity.team.asked)
    assert (ada.name, ada.role, ada.memory) == ("ada", "surveyor", '{\n  "a": 1\n}')
    assert (ben.tools, ben.memory) == (("bash",), "")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("assign_worker", {"node_id": "n", "worker_id": "w"}),
        ("retire_worker", {"worker_id": "w"}),
        ("cancel_node", {"node_id": "n"}),
        ("update_node", {"node_id": "n", "checks": "true"}),
        ("reconvene", {"assessment": "good"}),
        ("check_board", {}),
        ("spawn_worker", {"name": "ada"}),
    ],
)
async def test_structured_results_are_one_json_object(
    tmp_path: Path, tool: str, arguments: dict[str, object]
) -> None:
    result = await EntityTools(tmp_path, "coordinator").call(tool, **arguments)
    assert isinstance(json.loads(result.content), dict)


async def test_an_empty_summary_is_refused(tmp_path: Path) -> None:
    assert (await EntityTools(tmp_path / "a").call("publish", summary="")).is_error
    assert (await EntityTools(tmp_path / "b", "coordinator").call("finish", summary="")).is_error
