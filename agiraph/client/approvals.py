"""Calls about standing approvals."""

from agiraph.api import ApprovalView
from agiraph.client.call import Call, Verb, delete, get, named, part


class ApprovalCalls:
    """What "allow always" has allowed."""

    @Verb
    def approvals(self, agent: str | None = None) -> Call[list[ApprovalView]]:
        """Return what "allow always" has allowed, to one agent or to all, oldest first."""
        return get("/approvals", list[ApprovalView], named(agent=agent))

    @Verb
    def revoke_approval(self, approval: str) -> Call[ApprovalView]:
        """Take an approval back; 404 lists those that stand."""
        return delete(f"/approvals/{part(approval)}", ApprovalView)
