"""All calls of the HTTP API, family by family."""

from agiraph.client.access import AccessCalls
from agiraph.client.agents import AgentCalls
from agiraph.client.approvals import ApprovalCalls
from agiraph.client.budgets import BudgetCalls
from agiraph.client.channels import ChannelCalls
from agiraph.client.conversation import ConversationCalls
from agiraph.client.entities import EntityCalls
from agiraph.client.files import FileCalls
from agiraph.client.questions import QuestionCalls
from agiraph.client.triggers import TriggerCalls
from agiraph.client.work import WorkCalls


class Calls(
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
