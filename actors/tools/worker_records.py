"""WorkerRecords: the workers that use a tool process, by the records of the home.

A worker's process offers its model only the tools that the worker has, but a worker may run on a
machine that was taken over. So each process with tools decides for itself whether the sender of a
call has the tool, and applies the rules of approvals.yaml that deny the call in any case.
Coordinators and the human gateway run at home, and apply the rules themselves.
"""

from math import inf

from agiraph.board.members import BoardCache, Member, member_at
from agiraph.core.errors import Refused
from agiraph.core.ids import COORDINATOR_NAME
from agiraph.core.turns import JsonObject
from agiraph.mcp.grants import own_and_served
from agiraph.messages.authorization import is_worker
from agiraph.storage.home import Home
from agiraph.tools.approvals.policy import FETCH, ActingEntity, actions_of_call
from agiraph.tools.approvals.policy_file import ApprovalPolicyFile
from agiraph.tools.approvals.spellings import KnownNames
from agiraph.tools.approvals.wording import denied_by_rule
from agiraph.tools.table import tool_names


class WorkerRecords:
    """Reads the records of workers. All methods read files, and raise Refused, OSError."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._boards = BoardCache()
        self._policies = ApprovalPolicyFile(home.path, tool_names())

    def sender(self, sender: str) -> Member | None:
        """Return the worker at this address, None for a process that always runs at home."""
        return member_at(sender, self._home, self._boards) if is_worker(sender) else None

    def check_own_tool(self, sender: str, tool: str, arguments: JsonObject) -> None:
        """Raise Refused if a sender does not have a tool of Agiraph, or a rule denies the call."""
        if (member := self.sender(sender)) is None:
            return
        if not _has_own_tool(member, tool):
            raise Refused(f"the tool '{tool}' is not granted to {member.worker.name}")
        self.check_rules(member, tool, arguments)

    def check_rules(self, member: Member, tool: str, arguments: JsonObject) -> None:
        """Raise Refused if a rule denies a worker this call, wherever it runs."""
        policy, worker = self._policies.current(), member.worker
        for one in actions_of_call(tool, arguments, KnownNames(worker.name)):
            denied = policy.denial(one, worker.name, worker.role)
            if denied is not None:
                raise Refused(denied_by_rule(denied))

    def check_redirect(self, sender: str, url: str) -> None:
        """Raise Refused if a rule denies, or asks about, a page to which another page redirects.

        The entity was asked about the first address only. It is not known here whether its commands
        run in a sandbox and how much its run has spent, so rules with these conditions count.
        """
        member = self.sender(sender)
        names = (member.worker.name, member.worker.role) if member else (COORDINATOR_NAME,) * 2
        entities = [ActingEntity(*names, is_sandboxed=sandboxed) for sandboxed in (False, True)]
        actions = actions_of_call(FETCH, {"url": url})
        decided = [self._policies.current().judge_all(actions, one, inf) for one in entities]
        found = next((one for one in decided if one.action != "allow"), None)
        if found is not None:
            rule = found.rule.name if found.rule else ""
            raise Refused(
                f"the page redirects to {url}, about which the rule '{rule}' of this house decides:"
                " fetch that address itself if the task needs it"
            )


def _has_own_tool(member: Member, tool: str) -> bool:
    """Whether a worker may call a tool of Agiraph: its node's list takes precedence over its own.

    An external agent has its own tools, and a worker that only answers has none.
    """
    worker, node = member.worker, member.node
    if worker.type == "autonomous" or worker.mode == "single_inference":
        return False
    allowed = worker.tools if node is None or node.tools is None else node.tools
    own, _ = own_and_served(allowed)
    return own is None or tool in own
