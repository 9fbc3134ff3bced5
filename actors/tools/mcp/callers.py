"""Callers: which entities may list and call the tools of one server, by the records of the home.

A worker's process offers its model only the tools that the worker has, but a worker may run on a
machine that was taken over. So the process of the server decides for each request, with the same
rules (`agiraph.mcp.grants`), and applies the rules of approvals.yaml that deny a tool in any case.
Coordinators and the human gateway run at home, and apply the rules themselves.
"""

from dataclasses import dataclass

from agiraph.board.members import BoardsRead, member_at
from agiraph.core.errors import Refused
from agiraph.core.models import ProposedAction
from agiraph.core.turns import JsonObject
from agiraph.mcp.catalog import ServedTool, ToolCatalog
from agiraph.mcp.grants import Servers, ToolHolder, check_call, check_use, worker_holder
from agiraph.mcp.registered import servers_of_run
from agiraph.messages.authorization import is_worker
from agiraph.storage.home import Home
from agiraph.tools.approvals.policy import subject_of
from agiraph.tools.approvals.policy_file import ApprovalPolicyFile
from agiraph.tools.approvals.wording import denied_by_rule
from agiraph.tools.table import tool_names


@dataclass(frozen=True, slots=True)
class Caller:
    """A worker that uses a server: its name, its permissions, and the servers of its run."""

    name: str
    role: str
    holder: ToolHolder
    servers: Servers


class Callers:
    """Judges the requests for one server. Its methods read files, and raise Refused, OSError."""

    def __init__(self, home: Home, configured: Servers, server: str) -> None:
        self._home = home
        self._configured = configured
        self._server = server
        self._boards = BoardsRead()
        self._policies = ApprovalPolicyFile(home.path, tool_names())

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
            self._check_rules(caller, tool, arguments)

    def _caller(self, sender: str) -> Caller | None:
        """Return the worker that sends; None for a process that always runs at home."""
        if not is_worker(sender):
            return None
        member = member_at(sender, self._home, self._boards)
        given = member.agent.mcp_servers
        holder = worker_holder(member.worker, member.node, given)
        servers = servers_of_run(self._home, self._configured, given)
        return Caller(member.worker.name, member.worker.role, holder, servers)

    def _check_rules(self, caller: Caller, tool: ServedTool, arguments: JsonObject) -> None:
        act = ProposedAction(tool=tool.name, subject=subject_of(arguments))
        denied = self._policies.current().denial(act, caller.name, caller.role)
        if denied is not None:
            raise Refused(denied_by_rule(denied))
