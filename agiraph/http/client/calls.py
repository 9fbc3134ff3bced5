"""All calls of the HTTP API, family by family."""

from agiraph.http.client.access import AccessCalls
from agiraph.http.client.agents import AgentCalls
from agiraph.http.client.approvals import ApprovalCalls
from agiraph.http.client.budgets import BudgetCalls
from agiraph.http.client.channels import ChannelCalls
from agiraph.http.client.conversation import ConversationCalls
from agiraph.http.client.entities import EntityCalls
from agiraph.http.client.files import FileCalls
from agiraph.http.client.questions import QuestionCalls
from agiraph.http.client.triggers import TriggerCalls
from agiraph.http.client.work import WorkCalls


class ApiCalls(
    AgentCalls,
    ConversationCalls,
    QuestionCalls,
    ApprovalCalls,
    ChannelCalls,
    TriggerCalls,
    BudgetCalls,
    WorkCalls,
    FileCalls,
    EntityCalls,
    AccessCalls,
):
    """What both clients can be asked."""
