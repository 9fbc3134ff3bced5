"""Approvals that stand: what "allow always" has allowed."""

from agiraph.core.ids import AgentId, QuestionId
from agiraph.http.api.base import ApiView


class ApprovalView(ApiView):
    """One standing approval: calls of `tool` by this agent about what `pattern` (a glob) matches.

    `id` is the question's that was answered so; `rule` the one of approvals.yaml that asked.
    """

    id: QuestionId
    agent: AgentId
    agent_name: str = ""
    tool: str
    pattern: str
    rule: str = ""
    by: str = ""
    via: str = ""
    at: float
