"""The tools that the MCP server of Agiraph gives to a client's model."""

from typing import cast

from agiraph.http.mcp_server.clients import ApiClients
from agiraph.http.mcp_server.toolset import make_server

NAMING_AGENTS = {"agent_command", "plan", "roles", "section", "stage"}
"""Parameters of the HTTP API by which a caller names external agents."""


async def test_no_tool_of_the_mcp_server_takes_a_plan_or_a_team_or_the_name_of_an_agent() -> None:
    server = make_server(cast(ApiClients, None), "1")
    tools = await server.list_tools()
    assert {"run", "agentic_team_execute"} <= {tool.name for tool in tools}
    for tool in tools:
        assert not NAMING_AGENTS & set(tool.input_schema["properties"]), tool.name
