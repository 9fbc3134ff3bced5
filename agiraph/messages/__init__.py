"""Every message body that travels the bus, one frozen record each, named by its TYPE.

Types are grouped by prefix. DURABLE ones are journaled by the router before it acknowledges them
and are delivered to the next incarnation if this one dies; passing ones may be dropped under
pressure. `docs/protocol.md` lists them all; a test holds that list against MESSAGES. The `link.`
types belong to the transport and are not here.
"""

from agiraph.messages.board import (
    AwaitNodes,
    BoardState,
    CreateNode,
    LeaveWait,
    NodeCreatedReply,
    NodesEnded,
    Suggest,
    ViewBoard,
)
from agiraph.messages.body import Body
from agiraph.messages.child import (
    Attach,
    Cause,
    CauseKind,
    ChildBeat,
    ChildFailed,
    ChildInfo,
    ChildReady,
    ChildSpec,
    ChildStarted,
    ChildState,
    ChildStopped,
    ChildTable,
    ListChildren,
    StartChild,
    StopChild,
    Ticket,
    Wake,
)
from agiraph.messages.control import (
    Addresses,
    AskDepths,
    DeadLetter,
    Depths,
    Ok,
    Pause,
    RefusedReply,
    Resume,
    RetryLetter,
    Stop,
)
from agiraph.messages.event import (
    EventAppended,
    ReportEvents,
    Status,
)
from agiraph.messages.model import (
    AskUsage,
    CallModel,
    CancelCall,
    CheckModel,
    ListModels,
    ModelAnswer,
    ModelCatalog,
    ModelDelta,
    ModelFailed,
    UsageTable,
)
from agiraph.messages.node import (
    AssignNode,
    CancelNode,
    FailNode,
    NodeCheckpoint,
    NodeStarted,
    PublishNode,
    SubNodeEnded,
)
from agiraph.messages.question import (
    AskQuestion,
    QuestionAnswered,
)
from agiraph.messages.run import (
    BeginRun,
)
from agiraph.messages.text import (
    Text,
)

__all__ = [
    "MESSAGES",
    "Addresses",
    "AskDepths",
    "AskQuestion",
    "AskUsage",
    "AssignNode",
    "Attach",
    "AwaitNodes",
    "BeginRun",
    "BoardState",
    "Body",
    "CallModel",
    "CancelCall",
    "CancelNode",
    "Cause",
    "CauseKind",
    "CheckModel",
    "ChildBeat",
    "ChildFailed",
    "ChildInfo",
    "ChildReady",
    "ChildSpec",
    "ChildStarted",
    "ChildState",
    "ChildStopped",
    "ChildTable",
    "CreateNode",
    "DeadLetter",
    "Depths",
    "EventAppended",
    "FailNode",
    "LeaveWait",
    "ListChildren",
    "ListModels",
    "ModelAnswer",
    "ModelCatalog",
    "ModelDelta",
    "ModelFailed",
    "NodeCheckpoint",
    "NodeCreatedReply",
    "NodeStarted",
    "NodesEnded",
    "Ok",
    "Pause",
    "PublishNode",
    "QuestionAnswered",
    "RefusedReply",
    "ReportEvents",
    "Resume",
    "RetryLetter",
    "StartChild",
    "Status",
    "Stop",
    "StopChild",
    "SubNodeEnded",
    "Suggest",
    "Text",
    "Ticket",
    "UsageTable",
    "ViewBoard",
    "Wake",
]

MESSAGES: tuple[type[Body], ...] = (
    *(Stop, Pause, Resume, Ok, RefusedReply, Addresses, AskDepths, Depths, DeadLetter, RetryLetter),
    *(
        StartChild,
        ChildStarted,
        ChildReady,
        ChildBeat,
        StopChild,
        ChildStopped,
        ListChildren,
        ChildTable,
    ),
    *(ChildFailed, Attach, Ticket, Wake),
    BeginRun,
    Text,
    *(ViewBoard, BoardState, CreateNode, NodeCreatedReply, AwaitNodes, LeaveWait, NodesEnded),
    Suggest,
    *(AssignNode, NodeStarted, NodeCheckpoint, PublishNode, FailNode, CancelNode, SubNodeEnded),
    *(CallModel, ModelAnswer, ModelFailed, ModelDelta, CancelCall, ListModels, ModelCatalog),
    *(CheckModel, AskUsage, UsageTable),
    *(AskQuestion, QuestionAnswered),
    *(ReportEvents, EventAppended, Status),
)
