"""Callers: which entities may list and call the tools of one server, by the records of the home.

The process of the server decides for each request of a worker (`actors.tools.worker_records` says
why), with the rules by which the worker's process offers tools to its model (`agiraph.mcp.grants`).
"""

from dataclasses import dataclass

from actors.tools.worker_records import WorkerRecords
from agiraph.board.members import Member
from agiraph.core.turns import JsonObject
from agiraph.mcp.catalog import ServedTool, ToolCatalog
from agiraph.mcp.grants import Servers, ToolHolder, check_call, check_use, worker_holder
from agiraph.mcp.registered import servers_of_run
from agiraph.storage.home import Home


@dataclass(frozen=True, slots=True)
class Caller:
    """A worker that uses a server, its permissions, and the servers of its run."""

    member: Member
    holder: ToolHolder
    servers: Servers


class Callers:
    """Judges the requests for one server. All methods read files, and raise Refused, OSError."""

    def __init__(self, home: Home, configured: Servers, server: str) -> None:
        self._home = home
        self._configured = configured
        self._server = server
        self._records = WorkerRecords(home)

    def check_list(self, sender: str) -> None:
        """Raise Refused if the sender may not list the server's tools."""
        if (caller := self._caller(sender)) is not None:
            check_use(caller.servers, self._server, caller.holder, to_lend=True)

    def check_server(self, sender: str) -> None:
        """Raise Refused if the sender may call no tool of the server."""
        if (caller := self._caller(sender)) is not None:
            check_use(caller.servers, self._server, caller.holder)

    def check_call(
        self, sender: str, catalog: ToolCatalog, tool: ServedTool, arguments: JsonObject
    ) -> None:
        """Raise Refused if the sender does not have this tool, or a rule denies the call."""
        if (caller := self._caller(sender)) is not None:
            check_call(caller.servers, catalog, tool, caller.holder)
            self._records.check_rules(caller.member, tool.name, arguments)

    def _caller(self, sender: str) -> Caller | None:
        """Return the worker that sends; None for a process that always runs at home."""
        if (member := self._records.sender(sender)) is None:
            return None
        given = member.agent.mcp_servers
        holder = worker_holder(member.worker, member.node, given)
        servers = servers_of_run(self._home, self._configured, given)
        return Caller(member, holder, servers)
