"""What the HTTP API takes and gives: one frozen record per request and per answer.

The gateway (`actors/gateway`) and the client (`agiraph.http.client`) both speak these and nothing
else. Every error is a `ProblemView` (RFC 9457). Where JSON says `from`, Python says `sender`. Lists
come as JSON arrays; what can grow without end comes in pages with a cursor: pass `next` as `after`.
"""

from agiraph.http.api.access import (
    CreateLoginRequest,
    CreateTokenRequest,
    LoginView,
    NewTokenView,
    RotateTokenRequest,
    Scope,
    SessionView,
    TokenView,
    WhoAmIView,
)
from agiraph.http.api.agents import (
    AgentView,
    ArchivedView,
    CreateAgentRequest,
    DeletedView,
    RunRequest,
    RunView,
    StartRunRequest,
)
from agiraph.http.api.approvals import ApprovalView
from agiraph.http.api.base import ApiRequest, ApiView, JsonObject
from agiraph.http.api.budgets import BudgetView, SetBudgetRequest
from agiraph.http.api.channels import (
    ChannelTestView,
    ChannelView,
    DeliveryView,
    PresenceView,
    SetPresenceRequest,
)
from agiraph.http.api.conversation import (
    ConversationMessageView,
    ConversationPageView,
    InboxView,
    MarkReadRequest,
    MessageView,
    NudgeRequest,
    SendTextRequest,
    SentView,
)
from agiraph.http.api.dead_letters import DeadLetterView
from agiraph.http.api.entities import (
    ENTITY_ACTS,
    EntityAct,
    EntityView,
    SteeredEntityView,
    SteeredView,
)
from agiraph.http.api.errors import (
    ApiError,
    FieldProblemView,
    GatewayAway,
    NotReachable,
    ProblemView,
)
from agiraph.http.api.events import EventPageView
from agiraph.http.api.files import FileContentView, FileEntryView, FolderView, RawFileView
from agiraph.http.api.memory import MemoryEntryView, MemoryHitView, SearchMemoryRequest
from agiraph.http.api.questions import AnswerRequest, QuestionView, RespondRequest
from agiraph.http.api.servers import ServedToolView, ToolServerView
from agiraph.http.api.system import ConsoleTicketView, HealthView, ModelsView, UsageView
from agiraph.http.api.transcript import TranscriptEntryView, TranscriptPageView
from agiraph.http.api.triggers import CreateTriggerRequest, TriggerView
from agiraph.http.api.work import (
    BoardView,
    NodeDetailView,
    NodeView,
    RefView,
    StageView,
    WorkerView,
)

__all__ = [
    "ENTITY_ACTS",
    "AgentView",
    "AnswerRequest",
    "ApiError",
    "ApiRequest",
    "ApiView",
    "ApprovalView",
    "ArchivedView",
    "BoardView",
    "BudgetView",
    "ChannelTestView",
    "ChannelView",
    "ConsoleTicketView",
    "ConversationMessageView",
    "ConversationPageView",
    "CreateAgentRequest",
    "CreateLoginRequest",
    "CreateTokenRequest",
    "CreateTriggerRequest",
    "DeadLetterView",
    "DeletedView",
    "DeliveryView",
    "EntityAct",
    "EntityView",
    "EventPageView",
    "FieldProblemView",
    "FileContentView",
    "FileEntryView",
    "FolderView",
    "GatewayAway",
    "HealthView",
    "InboxView",
    "JsonObject",
    "LoginView",
    "MarkReadRequest",
    "MemoryEntryView",
    "MemoryHitView",
    "MessageView",
    "ModelsView",
    "NewTokenView",
    "NodeDetailView",
    "NodeView",
    "NotReachable",
    "NudgeRequest",
    "PresenceView",
    "ProblemView",
    "QuestionView",
    "RawFileView",
    "RefView",
    "RespondRequest",
    "RotateTokenRequest",
    "RunRequest",
    "RunView",
    "Scope",
    "SearchMemoryRequest",
    "SendTextRequest",
    "SentView",
    "ServedToolView",
    "SessionView",
    "SetBudgetRequest",
    "SetPresenceRequest",
    "StageView",
    "StartRunRequest",
    "SteeredEntityView",
    "SteeredView",
    "TokenView",
    "ToolServerView",
    "TranscriptEntryView",
    "TranscriptPageView",
    "TriggerView",
    "UsageView",
    "WhoAmIView",
    "WorkerView",
]
