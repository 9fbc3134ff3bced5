"""What the HTTP API takes and gives: one frozen record per request and per answer.

The gateway (`actors/human`) and the client (`agiraph.client`) both speak these and nothing else.
Every error is a `Problem` (RFC 9457). Where JSON says `from`, Python says `sender`. Lists come as
JSON arrays; what can grow without end comes in pages with a cursor: pass `next` as `after`.
"""

from agiraph.api.access import (
    LoginView,
    NewLogin,
    NewToken,
    NewTokenView,
    RotateToken,
    Scope,
    SessionView,
    TokenView,
    WhoAmI,
)
from agiraph.api.agents import (
    AgentSummary,
    Archived,
    CreateAgent,
    Deleted,
    NewRun,
    RunRequest,
    RunView,
)
from agiraph.api.approvals import ApprovalView
from agiraph.api.base import JsonObject, Request, View
from agiraph.api.budgets import BudgetView, SetBudget
from agiraph.api.channels import ChannelTest, ChannelView, DeliveryView, Presence, SetPresence
from agiraph.api.conversation import (
    ConversationMessage,
    ConversationPage,
    MessageView,
    Nudge,
    SendText,
    Sent,
)
from agiraph.api.dead import DeadLetterView
from agiraph.api.entities import ENTITY_ACTS, Acted, ActedOn, EntityAct, EntityRow
from agiraph.api.errors import ApiError, FieldProblem, GatewayAway, NotReachable, Problem
from agiraph.api.events import EventPage
from agiraph.api.files import FileContent, FileEntry, Folder, RawFile
from agiraph.api.memory import MemoryEntry, MemoryHit, MemoryQuery
from agiraph.api.questions import Answer, QuestionView, Respond
from agiraph.api.servers import ServedToolView, ToolServerView
from agiraph.api.system import ConsoleTicket, Health, ModelsView, UsageView
from agiraph.api.transcript import TranscriptEntry, TranscriptPage
from agiraph.api.triggers import NewTrigger, TriggerView
from agiraph.api.work import BoardView, NodeDetail, NodeView, RefView, StageView, WorkerView

__all__ = [
    "ENTITY_ACTS",
    "Acted",
    "ActedOn",
    "AgentSummary",
    "Answer",
    "ApiError",
    "ApprovalView",
    "Archived",
    "BoardView",
    "BudgetView",
    "ChannelTest",
    "ChannelView",
    "ConsoleTicket",
    "ConversationMessage",
    "ConversationPage",
    "CreateAgent",
    "DeadLetterView",
    "Deleted",
    "DeliveryView",
    "EntityAct",
    "EntityRow",
    "EventPage",
    "FieldProblem",
    "FileContent",
    "FileEntry",
    "Folder",
    "GatewayAway",
    "Health",
    "JsonObject",
    "LoginView",
    "MemoryEntry",
    "MemoryHit",
    "MemoryQuery",
    "MessageView",
    "ModelsView",
    "NewLogin",
    "NewRun",
    "NewToken",
    "NewTokenView",
    "NewTrigger",
    "NodeDetail",
    "NodeView",
    "NotReachable",
    "Nudge",
    "Presence",
    "Problem",
    "QuestionView",
    "RawFile",
    "RefView",
    "Request",
    "Respond",
    "RotateToken",
    "RunRequest",
    "RunView",
    "Scope",
    "SendText",
    "Sent",
    "ServedToolView",
    "SessionView",
    "SetBudget",
    "SetPresence",
    "StageView",
    "TokenView",
    "ToolServerView",
    "TranscriptEntry",
    "TranscriptPage",
    "TriggerView",
    "UsageView",
    "View",
    "WhoAmI",
    "WorkerView",
]
