"""Calls about standing approvals."""

from agiraph.http.api import ApprovalView
from agiraph.http.client.call import ApiCall, ApiMethod, delete, get, named, part


class ApprovalCalls:
    """What "allow always" has allowed."""

    @ApiMethod
    def approvals(self, agent: str | None = None) -> ApiCall[list[ApprovalView]]:
        """Return what "allow always" has allowed, to one agent or to all, oldest first."""
        return get("/approvals", list[ApprovalView], named(agent=agent))

    @ApiMethod
    def revoke_approval(self, approval: str) -> ApiCall[ApprovalView]:
        """Take an approval back; 404 lists those that stand."""
        return delete(f"/approvals/{part(approval)}", ApprovalView)
