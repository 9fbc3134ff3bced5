"""The toolbox: the tools of each kind of entity; a model can read each of its mistakes."""

import json
import re

import pytest

from agiraph.agent.context_window import estimate_fixed
from agiraph.core.errors import InvalidInput
from agiraph.core.turns import ToolCall
from agiraph.tools.base import NoParams, tool
from agiraph.tools.memory import memory_write
from agiraph.tools.more_tools import FIND_TOOLS, USE_TOOL, called_tool
from agiraph.tools.ports import EntityKind, ToolContext
from agiraph.tools.table import CALLED_ELSEWHERE, TOOLS, unknown_tool
from agiraph.tools.toolbox import Toolbox
from agiraph.tools.triggers import schedule
from tests.unit.tools.entity_tools import EntityTools


def test_a_worker_publishes_and_only_a_coordinator_finishes() -> None:
    worker, lead = Toolbox.for_entity("worker").names, Toolbox.for_entity("coordinator").names
    ends = {"bash", "publish", "finish", "remember"}
    assert ends & {*worker} == {"bash", "publish"}
    assert ends & {*lead} == {"bash", "finish", "remember"}


def test_every_tool_has_a_runbook_and_a_plain_schema_with_all_parameters_described() -> None:
    for one in TOOLS:
        assert len(one.guidance()) > 80
        parameters = one.schema().parameters
        assert parameters["type"] == "object"
        assert not [odd for odd in ("anyOf", "'title': '", "$") if odd in str(parameters)]
        for name, schema in parameters["properties"].items():
            assert schema.get("description"), f"{one.name}.{name}"


@pytest.mark.parametrize("kind", ["worker", "coordinator"])
def test_short_schema_has_name_description_and_parameters(kind: EntityKind) -> None:
    whole = Toolbox.for_entity(kind, tuple(tool.name for tool in TOOLS if kind in tool.kinds))
    short = whole.shortened()
    assert short.names == (*whole.names, FIND_TOOLS)
    assert short.guidance() == ""
    assert 3.5 * estimate_fixed("", short.schemas()) < estimate_fixed(
        whole.guidance(), whole.schemas()
    )
    for before, after in zip(whole.schemas(), short.schemas(), strict=False):
        assert after.description == before.description
        assert "description" not in str(after.parameters)
        assert set(before.parameters.get("required", ())) <= set(after.parameters["properties"])


def test_short_schema_omits_only_nested_optional_parameters() -> None:
    short = Toolbox.for_entity("coordinator").shortened()
    (node,) = [schema for schema in short.schemas() if schema.name == "create_work_node"]
    assert {"task", "refs", "dependencies", "wait"} <= set(node.parameters["properties"])
    assert "stage" not in node.parameters["properties"]
    assert node.parameters["properties"]["checks"] == {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize("kind", ["worker", "coordinator"])
def test_every_tool_is_described_or_listed_by_find_tools(kind: EntityKind) -> None:
    toolbox = Toolbox.for_entity(kind)
    described = {schema.name: schema.description for schema in toolbox.schemas()}
    listed = re.findall(r"^- (\w+): ", described[FIND_TOOLS], re.MULTILINE)
    assert len(described) <= 12
    assert not {*listed} & described.keys()
    assert {*listed, *described} == {*toolbox.names}
    for name in listed:
        assert f"### {name}" not in toolbox.guidance()


@pytest.mark.parametrize(("kind", "other"), [("worker", "coordinator"), ("coordinator", "worker")])
def test_runbooks_have_no_line_for_another_kind_of_entity(
    kind: EntityKind, other: EntityKind
) -> None:
    tools = [tool.for_reader(kind) for tool in TOOLS if kind in tool.kinds]
    texts = "\n".join(tool.guidance() for tool in tools)
    assert f"[{kind}]" not in texts
    assert f"[{other}]" not in texts
    assert "None" not in texts
    assert ("This folder is your own." in texts) == (kind == "worker")
    assert ("This folder is the run's folder." in texts) == (kind == "coordinator")


def finding(*names: str) -> ToolCall:
    return ToolCall(id="c", name=FIND_TOOLS, arguments={"names": names})


async def test_find_tools_returns_runbooks_and_parameters(entity: EntityTools) -> None:
    found = await entity.toolbox.run(finding("memory_write", "schedule"), entity.context())
    for one in (memory_write, schedule):
        assert one.for_reader("worker").guidance() in found.content
        assert json.dumps(one.schema().parameters, ensure_ascii=False) in found.content
    unknown = await entity.toolbox.run(finding("memory_wirte"), entity.context())
    assert (unknown.is_error, "memory_write" in unknown.content) == (True, True)


def using(**arguments: object) -> ToolCall:
    return ToolCall(id="c", name=USE_TOOL, arguments=arguments)


def test_call_of_use_tool_becomes_a_call_of_the_named_tool() -> None:
    for given in ({"key": "x"}, '{"key": "x"}'):
        called = called_tool(using(tool="read_shared_value", arguments=given))
        assert called == ToolCall(id="c", name="read_shared_value", arguments={"key": "x"})
    assert called_tool(using(tool="check_board")).arguments == {}


async def test_wrong_call_of_use_tool_is_answered_with_the_problem(entity: EntityTools) -> None:
    for wrong, problem in (
        (using(arguments={}), "tool"),
        (using(tool="bash", arguments=[]), "arguments"),
        (using(tool=USE_TOOL), "cannot be called by use_tool"),
    ):
        assert called_tool(wrong) == wrong
        result = await entity.toolbox.run(wrong, entity.context())
        assert (result.is_error, problem in result.content) == (True, True)


@pytest.mark.parametrize("kind", ["worker", "coordinator"])
def test_tools_of_an_entity_have_unique_names(kind: EntityKind) -> None:
    names = [tool.name for tool in TOOLS if kind in tool.kinds]
    assert len(set(names)) == len(names)


def test_guidance_names_only_granted_tools() -> None:
    text = Toolbox.for_entity("worker", ("bash",)).guidance()
    assert "### bash" in text
    assert "### publish" in text
    assert "### write_file" not in text


def test_allowed_tools_always_include_the_ones_that_end_the_work() -> None:
    assert Toolbox.for_entity("worker", ("bash",)).names == ("publish", "bash")
    assert Toolbox.for_entity("coordinator", ()).names == ("finish", "end_cycle")


def test_an_allowed_tool_that_does_not_exist_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"unknown tool 'sehll' .known: .*bash"):
        Toolbox.for_entity("worker", ("sehll",))


@pytest.mark.parametrize(
    ("tool", "arguments", "parts"),
    [
        ("sehll", {}, ("unknown tool 'sehll'", "bash")),
        ("spawn_agent", {}, ("did you mean 'create_work_node'?",)),
        ("Shell", {}, ("did you mean 'bash'?",)),
        ("write_file", {"path": "x.md"}, ("write_file(path, content)",)),
        ("read_file", {"path": "x.md", "encoding": "utf-8"}, ("encoding", "offset?")),
        ("read_file", {"pth": "x.md"}, ("unknown field 'pth', did you mean 'path'?",)),
        ("send_message", {"to": "nobody", "content": "hi"}, ("known: ada",)),
    ],
    ids=[
        *("unknown tool", "tool of other systems", "tool in other letters", "missing argument"),
        *("unknown argument", "mistyped argument", "refusal of the team"),
    ],
)
async def test_wrong_call_is_answered_with_the_possible_values(
    entity: EntityTools, tool: str, arguments: dict[str, str], parts: tuple[str, ...]
) -> None:
    result = await entity.call(tool, **arguments)
    assert result.is_error
    assert [part for part in parts if part not in result.content] == []


def test_tool_name_of_another_system_gets_a_suggestion() -> None:
    box = Toolbox.for_entity("coordinator")
    with pytest.raises(InvalidInput, match="did you mean 'create_work_node' or 'spawn_worker'"):
        raise unknown_tool("spawn_agent", box.names)
    for ours, others in CALLED_ELSEWHERE.items():
        assert ours in {tool.name for tool in TOOLS}
        assert ours not in others


async def test_malformed_arguments_are_quoted_in_the_error(entity: EntityTools) -> None:
    call = ToolCall(id="c", name="bash", malformed='{"command": "ls')
    result = await entity.toolbox.run(call, entity.context())
    assert result.is_error
    assert '{"command": "ls' in result.content


async def test_internal_error_is_raised_to_the_supervisor(entity: EntityTools) -> None:
    entity.team.fault = TypeError("ours")
    with pytest.raises(TypeError, match="ours"):
        await entity.call("check_messages")


def test_only_commands_and_edits_are_not_repeated_after_a_crash() -> None:
    boxes = [Toolbox.for_entity("worker"), Toolbox.for_entity("coordinator")]
    again = {name: box.is_idempotent(name) for box in boxes for name in box.names}
    assert [name for name, may in again.items() if not may] == ["edit_file", "bash", USE_TOOL]
    assert boxes[0].is_idempotent("never-heard-of")


def test_undeclared_tool_is_not_idempotent() -> None:
    @tool("Pay the bill.")
    async def pay(context: ToolContext, params: NoParams) -> str:
        return "paid"

    assert not Toolbox([pay]).is_idempotent("pay")
