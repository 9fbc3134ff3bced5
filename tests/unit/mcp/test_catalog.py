"""Names and schemas of a server's tools are such as every provider accepts."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.mcp_settings import McpServerConfig
from agiraph.mcp.catalog import (
    LONGEST,
    ServedTool,
    is_served,
    make_catalog,
    plain_schema,
    server_of,
    tool_names,
)

TAKEN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@given(st.sets(st.text(max_size=90), max_size=12))
def test_every_tool_has_a_unique_name_that_providers_accept(tools: set[str]) -> None:
    names = tool_names("files", tools)
    assert set(names) == tools
    assert len(set(names.values())) == len(tools)
    for name in names.values():
        assert TAKEN_NAME.fullmatch(name)
        assert is_served(name)
        assert server_of(name) == "files"


def test_a_simple_name_is_kept_and_the_others_get_a_digest() -> None:
    assert tool_names("git", ["log", "show"]) == {"log": "git__log", "show": "git__show"}
    marked = tool_names("git", ["a.b", "a b"])
    assert marked["a.b"].startswith("git__a_b_")
    assert marked["a.b"] != marked["a b"]
    [long] = tool_names("git", ["x" * 100]).values()
    assert len(long) == LONGEST


def test_references_are_resolved_and_a_cycle_of_them_ends() -> None:
    tree = {
        "$defs": {"Tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}}},
        "properties": {"tree": {"$ref": "#/$defs/Tree", "description": "it"}, "title": {}},
    }
    plain = plain_schema(tree)
    assert "$ref" not in str(plain)
    assert "$defs" not in plain
    assert plain["properties"]["tree"]["description"] == "it"
    assert plain["properties"]["tree"]["properties"]["child"]["type"] == "object"
    assert plain["type"] == "object"


def test_a_property_may_have_the_name_of_a_keyword() -> None:
    said = {"properties": {"definitions": {"type": "string"}, "$id": {"type": "number"}}}
    assert plain_schema(said)["properties"] == said["properties"]


def test_a_choice_at_the_top_is_left_out() -> None:
    assert plain_schema({"anyOf": [{"required": ["a"]}], "type": "object"}) == {
        "type": "object",
        "properties": {},
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["$ref", "properties", "items", "anyOf", "type", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=5))
def test_any_schema_becomes_an_object_schema(said: dict[str, Any]) -> None:
    plain = plain_schema(said)
    assert plain["type"] == "object"
    assert isinstance(plain["properties"], dict)


def listed(name: str, **hints: bool) -> dict[str, Any]:
    return {"name": name, "description": "d" * 5000, "inputSchema": {}, "annotations": hints}


def catalog(tools: list[dict[str, Any]], **settings: Any) -> tuple[ServedTool, ...]:
    config = McpServerConfig(command="x", **settings)
    return make_catalog("db", config, tools, has_resources=True, has_prompts=False)


def test_a_catalog_is_the_same_in_whatever_order_the_server_lists() -> None:
    settings = {"only": ("read*", "write*"), "repeatable": ("write_same",)}
    tools = [
        listed("write", destructiveHint=True),
        listed("read", readOnlyHint=True),
        listed("write_same"),
        listed("drop_all"),
    ]
    found = catalog(tools, **settings)
    assert found == catalog(tools[::-1], **settings)
    assert {tool.name: tool.is_repeatable for tool in found} == {
        "db__read": True,
        "db__read_resource": True,
        "db__write": False,
        "db__write_same": True,
    }
    assert all(len(tool.description) <= 1024 for tool in found)


def test_a_servers_own_tool_keeps_its_name_beside_ours() -> None:
    assert [(tool.name, tool.tool) for tool in catalog([listed("read_resource")])] == [
        ("db__read_resource", "read_resource"),
        ("db__read_resource_of_server", "@read_resource"),
    ]
