"""An entity has a server's tool only by the settings or from the coordinator that created it."""

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.mcp.catalog import ServedTool, ToolCatalog
from agiraph.mcp.grants import ToolHolder, check_lent, granted, own_and_served, wanted_servers
from agiraph.mcp.mending import LeftOut
from agiraph.settings.mcp_servers import McpServerConfig
from agiraph.tools.toolbox import Toolbox

SERVERS = {
    "docs": McpServerConfig(command="x", grant=("Researcher", "coordinator")),
    "git": McpServerConfig(command="x"),
    "open": McpServerConfig(command="x", grant=("*",)),
    "safe": McpServerConfig(command="x", lend=False, grant=("ada",)),
}
CATALOGS = {
    name: ToolCatalog(
        server=name,
        tools=tuple(
            ServedTool(name=f"{name}__{t}", server=name, tool=t) for t in ("read", "write")
        ),
    )
    for name in SERVERS
}


def names(allowed: tuple[str, ...] | None, *called: str) -> list[str]:
    return [tool.name for tool in granted(SERVERS, CATALOGS, ToolHolder(called, allowed))]


@pytest.mark.parametrize(
    ("called", "servers"),
    [
        (("bob", "writer"), ("open",)),
        (("bob", "researcher"), ("docs", "open")),
        (("ada", ""), ("open", "safe")),
        (("coordinator",), ("docs", "open")),
    ],
)
def test_the_settings_grant_by_name_and_by_role(
    called: tuple[str, ...], servers: tuple[str, ...]
) -> None:
    assert wanted_servers(SERVERS, ToolHolder(called)) == servers
    assert names(None, *called) == [f"{s}__{t}" for s in servers for t in ("read", "write")]


def test_explicit_tool_list_replaces_the_settings() -> None:
    assert names(("git__read", "bash"), "bob") == ["git__read"]
    assert names(("git__*",), "bob") == ["git__read", "git__write"]
    assert names(("bash",), "ada") == []
    assert names(("safe__read",), "bob") == [], "it may not be lent"
    assert names(("safe__read",), "ada") == ["safe__read"]
    assert names(("nothing__read",), "ada") == []


def test_grant_of_only_served_tools_keeps_all_own_tools() -> None:
    assert own_and_served(("git__read",)) == (None, ("git__read",))
    assert own_and_served(("bash", "git__read")) == (("bash",), ("git__read",))
    assert own_and_served(()) == ((), ())
    everything = Toolbox.for_entity("worker").names
    assert Toolbox.for_entity("worker", ("git__read",)).names == everything
    assert "write_file" not in Toolbox.for_entity("worker", ("bash", "git__read")).names


def test_invalid_grant_is_refused_with_the_known_tools() -> None:
    with pytest.raises(InvalidInput, match=r"unknown server of tools 'gitt'.*known: docs, git"):
        check_lent(SERVERS, CATALOGS, ("gitt__read",), "bob")
    with pytest.raises(InvalidInput, match=r"unknown tool 'git__raed', did you mean 'git__read'"):
        check_lent(SERVERS, CATALOGS, ("git__raed",), "bob")
    with pytest.raises(InvalidInput, match="its `lend` is false"):
        check_lent(SERVERS, CATALOGS, ("safe__read",), "bob")
    check_lent(SERVERS, {}, ("git__whatever",), "bob")  # its catalog is not known
    down = {
        "git": ToolCatalog(server="git", problem="server 'git' cannot be used: no such program")
    }
    with pytest.raises(InvalidInput, match="'git__read' cannot be given now: server 'git' cannot"):
        check_lent(SERVERS, down, ("git__read",), "bob")
    check_lent(SERVERS, CATALOGS, ("safe__read", "git__*"), "ada")
    left_out = (LeftOut(name="git__raed", why="a server may have 200 tools"),)
    short = {"git": CATALOGS["git"].model_copy(update={"left_out": left_out})}
    with pytest.raises(InvalidInput, match="'git__raed' is left out: a server may have 200 tools"):
        check_lent(SERVERS, short, ("git__raed",), "bob")


def test_a_toolbox_shows_served_tools_after_its_own() -> None:
    box = Toolbox.for_entity("worker").with_served(CATALOGS["git"].tools)
    assert box.names[-2:] == ("git__read", "git__write")
    assert not box.is_idempotent("git__write")
    assert "### `git__...`" in box.guidance()
    assert "git__" not in Toolbox.for_entity("worker").guidance()
