"""Names of a server's tools are such as every provider accepts, and its catalog names the rest."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agiraph.mcp.catalog import (
    LONGEST,
    MOST_TOOLS,
    PARTIAL,
    ServedTool,
    in_words,
    is_served,
    make_catalog,
    server_of,
    tool_names,
)
from agiraph.settings.mcp_servers import McpServerConfig

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


def listed(name: str, **hints: bool) -> dict[str, Any]:
    return {"name": name, "description": "d" * 5000, "inputSchema": {}, "annotations": hints}


def catalog(tools: list[dict[str, Any]], **settings: Any) -> tuple[ServedTool, ...]:
    config = McpServerConfig(command="x", **settings)
    return make_catalog("db", config, tools, has_resources=True, has_prompts=False)[0]


def test_catalog_does_not_depend_on_the_order_of_the_server() -> None:
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


def test_tool_of_a_server_keeps_its_name_beside_the_built_in_one() -> None:
    assert [(tool.name, tool.tool) for tool in catalog([listed("read_resource")])] == [
        ("db__read_resource", "read_resource"),
        ("db__read_resource_of_server", "@read_resource"),
    ]


def test_omitted_tools_are_named_with_the_reason() -> None:
    config = McpServerConfig(command="x", only=("t*",))
    tools = [listed(f"t{number:03}") for number in range(MOST_TOOLS + 1)]
    found, left_out = make_catalog(
        "db",
        config,
        [*tools, tools[1], {**tools[0], "title": "t"}, listed("x")],
        has_resources=False,
        has_prompts=False,
    )
    assert len(found) == MOST_TOOLS
    assert in_words(left_out) == (
        "t000 (another tool has the same name); "
        f"db__t{MOST_TOOLS} (a server may have {MOST_TOOLS} tools: choose with `only` in its "
        "settings)"
    )


def test_tool_with_a_shortened_schema_is_marked() -> None:
    wide = {"properties": {f"p{number}": {"description": "x" * 99} for number in range(999)}}
    [tool] = [one for one in catalog([{**listed("t"), "inputSchema": wide}]) if one.tool == "t"]
    assert tool.description.endswith(PARTIAL)
    assert len(tool.description) <= 1024
