"""Authorization: the permitted senders of each message, and their permitted claims; pure.

The router guarantees only the sender's address. Every process checks each message against RULES
before it acts on it: an entity reports, asks and spends only for itself and its own agent; a
coordinator also for its workers, whose processes it starts and stops. Claims that depend on state
(the runs of an agent, the worker of a node) are checked by the service that has that state.

A new message type needs a line in RULES, which is also the list of all messages.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic import BaseModel

from agiraph.core.event_types import BY_NAME
from agiraph.core.hosts import AUTO_PREFIX
from agiraph.core.ids import (
    BROKER,
    CLOCK,
    COORDINATOR_NAME,
    HOST_PREFIX,
    HUMAN,
    HUMAN_NAME,
    INVITE_PREFIX,
    RECORDER,
    ROUTER,
    SCALER,
    SUPERVISOR,
    TOOLS_PREFIX,
    agent_of,
    coordinator_address,
    slug,
)
from agiraph.core.models import BUDGET, Event
from agiraph.core.money import BudgetState, named_in
from agiraph.messages import (
    board,
    child,
    control,
    event,
    files,
    host,
    knowledge,
    llm_proxy,
    model,
    node,
    question,
    run,
    shared_values,
    text,
    tool,
    trigger,
)
from agiraph.messages.body import MessageBody

Rule = Callable[[str, str, Any], bool]
"""Whether `sender` may send a body to the address `to`."""

CONSOLES: Final = "console/"
WORKER: Final = "worker"


def refusal(sender: str, to: str, body: BaseModel) -> str | None:
    """Return why a message is refused, None if its sender may send it."""
    rule = RULES.get(type(body)) if isinstance(body, MessageBody) else None
    if rule is not None and rule(sender, to, body):
        return None
    return f"{sender} is not authorized to send {to} this {getattr(body, 'TYPE', 'message')}"


# --- senders -------------------------------------------------------------------------------------


def is_person(sender: str) -> bool:
    """Whether this is an address of the human."""
    return sender == HUMAN or sender.startswith(CONSOLES)


def is_coordinator(address: str) -> bool:
    """Whether this is the address of an agent's coordinator."""
    agent = agent_of(address)
    return agent is not None and address == coordinator_address(agent)


def is_worker(address: str) -> bool:
    """Whether this is the address of an agent's entity that is not its coordinator."""
    return agent_of(address) is not None and not is_coordinator(address)


def shown_name(sender: str, claimed: str) -> str:
    """Return the name to show for a sender: the claimed name, if its address confirms it.

    So only the human has the human's authority, and no worker can pose as another worker.
    """
    if is_person(sender):
        return HUMAN_NAME
    if is_coordinator(sender):
        return COORDINATOR_NAME
    return claimed if is_name_of(sender, claimed) else sender


def is_name_of(address: str, name: str) -> bool:
    """Whether an entity has this name: `{agent}/{name}-{id}` is the address of `name`."""
    entity = address.rpartition("/")[2]
    if COORDINATOR_NAME in (entity, name):
        return entity == name
    return bool(name) and entity.rpartition("-")[0] == slug(name, fallback=WORKER)


def owns_budget(agent: str, budget: BudgetState, has_run: Callable[[str], bool]) -> bool:
    """Whether a budget belongs to an agent; `has_run` returns whether a run is the agent's."""
    first = budget.key.partition("/")[0]
    return has_run(first) if budget.scope in ("run", "node") else first == agent


# --- rules ---------------------------------------------------------------------------------------


def _only(*senders: str) -> Rule:
    return lambda sender, _to, _body: sender in senders


def _reply(_sender: str, _to: str, _body: MessageBody) -> bool:
    """Return False: an answer is accepted only by its requester, never without a request."""
    return False


def _anybody(_sender: str, _to: str, _body: MessageBody) -> bool:
    """Return True: the message concerns its sender, or asks for public information."""
    return True


def _entity(sender: str, _to: str, _body: MessageBody) -> bool:
    return agent_of(sender) is not None


def _entity_or_human(sender: str, _to: str, _body: MessageBody) -> bool:
    return is_person(sender) or agent_of(sender) is not None


def _to_own_coordinator(sender: str, to: str, _body: MessageBody) -> bool:
    return agent_of(sender) is not None and agent_of(sender) == agent_of(to) and is_coordinator(to)


def _by_own_coordinator(sender: str, to: str, _body: MessageBody) -> bool:
    return is_coordinator(sender) and agent_of(sender) == agent_of(to)


def _of_own_agent(
    sender: str,
    _to: str,
    body: trigger.CreateTrigger
    | trigger.ChangeTrigger
    | trigger.ListTriggers
    | knowledge.RememberThis,
) -> bool:
    return sender == HUMAN or agent_of(sender) == body.agent


def _lesson(sender: str, _to: str, body: knowledge.LearnFromRun) -> bool:
    return is_coordinator(sender) and agent_of(sender) == body.run.agent


def _look_up(sender: str, _to: str, body: knowledge.FindEarlierWork) -> bool:
    return is_coordinator(sender) and agent_of(sender) == body.agent


def _human_or_coordinator(sender: str, _to: str, _body: MessageBody) -> bool:
    return sender == HUMAN or is_coordinator(sender)


def _table(sender: str, _to: str, body: child.ListChildren) -> bool:
    """Whether the human asks, or a coordinator about the processes of its own agent only."""
    return sender == HUMAN or (is_coordinator(sender) and body.agent == agent_of(sender))


def _human_or_scaler(sender: str, _to: str, body: "host.InviteHost | host.ChangeHost") -> bool:
    """Whether the human sends it, or the scaler about a host that the scaler has named."""
    own = sender == SCALER and (body.name or "").startswith(AUTO_PREFIX)
    return sender == HUMAN or own


def _host(sender: str, _to: str, _body: MessageBody) -> bool:
    return sender.startswith(HOST_PREFIX)


def _guest(sender: str, _to: str, _body: MessageBody) -> bool:
    """Whether the sender is the holder of an invitation, which may only join."""
    return sender.startswith(INVITE_PREFIX)


def _worker(sender: str, _to: str, _body: MessageBody) -> bool:
    """Whether a worker sends it; the service `files` checks the paths in the message."""
    return is_worker(sender)


def _tool_process(sender: str, _to: str, _body: MessageBody) -> bool:
    return sender.startswith(TOOLS_PREFIX)


def _text(sender: str, to: str, _body: text.TextMessage) -> bool:
    """Whether members of a team write to each other or to the human."""
    if to == HUMAN or to.startswith(CONSOLES):
        return agent_of(sender) is not None or is_person(sender)
    agent = agent_of(to)
    return agent is not None and (is_person(sender) or agent_of(sender) == agent)


def _view(sender: str, to: str, body: board.ViewBoard) -> bool:
    is_humans = is_person(sender) and is_coordinator(to)
    return is_humans or _to_own_coordinator(sender, to, body)


def _assignment(sender: str, to: str, body: node.AssignNodeMessage) -> bool:
    return _by_own_coordinator(sender, to, body) and body.agent == agent_of(sender)


def _start(sender: str, _to: str, body: child.StartChild) -> bool:
    """Whether the human, or a coordinator for its own agent, starts a process.

    A coordinator may start workers of its agent, with itself as their owner.
    """
    if sender == HUMAN:
        return True
    spec, agent = body.spec, agent_of(sender)
    is_its_worker = agent_of(spec.address) == agent and not is_coordinator(spec.address)
    is_its_order = spec.owner == sender and spec.args.get("agent", agent) == agent
    return is_coordinator(sender) and spec.kind == WORKER and is_its_worker and is_its_order


def _stop(sender: str, _to: str, body: child.StopChild) -> bool:
    is_its = agent_of(body.address) == agent_of(sender)
    return sender == HUMAN or (is_coordinator(sender) and is_its)


def _ready(sender: str, _to: str, body: child.ChildReady) -> bool:
    return body.address == sender


def _dead_letter(sender: str, _to: str, body: control.DeadLetter) -> bool:
    """Whether the receiver of a letter reports it dead: it may be sent back to this receiver."""
    return body.to == sender


def _model_call(sender: str, _to: str, body: model.CallModel) -> bool:
    return agent_of(sender) is not None and body.request.entity == sender


def _overheard(sender: str, to: str, body: model.StreamDelta) -> bool:
    """Whether the broker sends it to subscribers, or a worker the output of its external agent."""
    return sender == BROKER or (to == BROKER and body.entity == sender)


def _person(sender: str, _to: str, _body: MessageBody) -> bool:
    return is_person(sender)


def _usage(sender: str, _to: str, body: model.AskUsage) -> bool:
    agent = agent_of(sender)
    its_own = agent is not None and body.agent == agent and body.budgets_of in ("", agent)
    return sender == HUMAN or (its_own and not body.runs)


def _question(sender: str, _to: str, body: question.AskQuestion) -> bool:
    """An entity may ask for its own agent, and for more budget of its own agent only.

    The gateway checks whether a run belongs to the agent.
    """
    agent = agent_of(sender)
    if agent is None or body.agent != agent:
        return False
    if body.kind != BUDGET:
        return True
    short = named_in(body.about.shortage if body.about else "")
    return short is not None and owns_budget(agent, short, has_run=lambda _: True)


def _trigger_failed(sender: str, _to: str, body: trigger.TriggerFailed) -> bool:
    return is_coordinator(sender) and agent_of(sender) == body.agent


def _trigger_fired(sender: str, to: str, body: trigger.TriggerFired) -> bool:
    return sender == CLOCK and body.agent == agent_of(to)


def _events(sender: str, _to: str, body: event.ReportEvents) -> bool:
    """Whether the sender may report these events.

    A service may report for all; an entity only its own types of events, about itself. A
    coordinator may report for its workers too.
    """
    agent = agent_of(sender)
    if agent is None:
        return not is_person(sender) or sender == HUMAN
    return all(one.agent_id == agent and _is_own_event(sender, one) for one in body.events)


def _is_own_event(sender: str, happened: Event) -> bool:
    kind = BY_NAME.get(happened.type)
    reporters = kind.by.split(", ") if kind else ()
    if is_coordinator(sender):
        return COORDINATOR_NAME in reporters
    said_by = happened.data.get("from") if happened.type == "message.sent" else happened.entity
    names = {happened.entity, said_by}
    return WORKER in reporters and all(
        isinstance(name, str) and (name == sender or is_name_of(sender, name)) for name in names
    )


RULES: Final[Mapping[type[MessageBody], Rule]] = MappingProxyType(
    {
        control.Stop: _only(SUPERVISOR),
        control.Pause: _only(HUMAN),
        control.Resume: _only(HUMAN),
        control.Step: _only(HUMAN),
        control.Ok: _reply,
        control.RefusedReply: _reply,
        control.AddressTable: _only(SUPERVISOR),
        control.AskMailboxDepths: _human_or_coordinator,
        control.MailboxDepths: _reply,
        control.DeadLetter: _dead_letter,
        control.RetryLetter: _only(HUMAN),
        child.StartChild: _start,
        child.ChildStarted: _reply,
        child.ChildReady: _ready,
        child.ChildHeartbeat: _anybody,
        child.StopChild: _stop,
        child.ChildStopped: _reply,
        child.ListChildren: _table,
        child.ChildTable: _reply,
        child.ChildFailed: _only(SUPERVISOR),
        child.AttachConsole: _only(HUMAN),
        child.AttachTicket: _reply,
        child.WakeChild: _only(ROUTER),
        run.BeginRun: _only(HUMAN),
        text.TextMessage: _text,
        board.ViewBoard: _view,
        board.AskRoster: _to_own_coordinator,
        board.RosterChanged: _by_own_coordinator,
        board.BoardState: _reply,
        board.CreateNodeMessage: _to_own_coordinator,
        board.NodeCreatedReply: _reply,
        board.HireWorker: _to_own_coordinator,
        board.LaunchTeam: _to_own_coordinator,
        board.TeamChanged: _reply,
        board.AwaitNodes: _to_own_coordinator,
        board.CancelWait: _to_own_coordinator,
        board.NodesEnded: _reply,
        board.SuggestNode: _to_own_coordinator,
        shared_values.ReadSharedValue: _to_own_coordinator,
        shared_values.ListSharedValues: _to_own_coordinator,
        shared_values.SharedValuesShown: _reply,
        shared_values.ChangeSharedValue: _to_own_coordinator,
        shared_values.SharedValueChanged: _reply,
        knowledge.LearnFromRun: _lesson,
        knowledge.RememberThis: _of_own_agent,
        knowledge.FindEarlierWork: _look_up,
        knowledge.EarlierWorkFound: _reply,
        node.AssignNodeMessage: _assignment,
        node.NodeStartedMessage: _to_own_coordinator,
        node.NodeCheckpoint: _to_own_coordinator,
        node.PublishNode: _to_own_coordinator,
        node.FailNodeMessage: _to_own_coordinator,
        node.CancelNodeMessage: _by_own_coordinator,
        node.NodeUpdatedMessage: _by_own_coordinator,
        node.NodeReleasedMessage: _to_own_coordinator,
        node.RetryNodeMessage: _only(HUMAN),
        node.CancelByHuman: _only(HUMAN),
        node.MoveByHuman: _only(HUMAN),
        node.SubNodeEnded: _by_own_coordinator,
        model.CallModel: _model_call,
        model.ModelAnswer: _reply,
        model.ModelFailed: _reply,
        model.ModelDelta: _only(BROKER),
        model.CancelCall: _entity,
        model.ListModels: _human_or_coordinator,
        model.ModelCatalog: _reply,
        model.CheckModel: _entity_or_human,
        model.CountTokens: _entity,
        model.TokensCounted: _reply,
        model.AskUsage: _usage,
        model.UsageTable: _reply,
        model.RaiseBudget: _only(HUMAN),
        model.SubscribeToStream: _person,
        model.StreamDelta: _overheard,
        model.SetBudgetMessage: _only(HUMAN),
        model.ResetBudget: _only(HUMAN),
        model.AskBudgets: _only(HUMAN),
        model.BudgetTable: _reply,
        llm_proxy.OpenProxy: _entity,
        llm_proxy.ProxyOpened: _reply,
        llm_proxy.CloseProxy: _entity,
        llm_proxy.SettleProxyCosts: _entity,
        llm_proxy.ProxyCostsSettled: _reply,
        llm_proxy.ProxyCallFailed: _only(BROKER),
        llm_proxy.ProxyBudgetLow: _only(BROKER),
        tool.CallTool: _entity,
        tool.ToolResult: _reply,
        tool.CancelTool: _entity,
        tool.ToolProgress: _tool_process,
        tool.ListTools: _entity_or_human,
        tool.ToolsListed: _reply,
        tool.FetchResult: _entity,
        tool.NoSuchCall: _reply,
        question.AskQuestion: _question,
        question.QuestionAnswered: _only(HUMAN),
        question.WithdrawQuestion: _entity,
        trigger.CreateTrigger: _of_own_agent,
        trigger.ChangeTrigger: _of_own_agent,
        trigger.TriggerState: _reply,
        trigger.ListTriggers: _of_own_agent,
        trigger.TriggerTable: _reply,
        trigger.TriggerFired: _trigger_fired,
        trigger.TriggerFailed: _trigger_failed,
        event.ReportEvents: _events,
        event.EventAppended: _only(RECORDER),
        event.EventsGrew: _only(RECORDER),
        host.KnownHosts: _only(SUPERVISOR),
        host.HostRefused: _only(ROUTER, SUPERVISOR),
        host.UplinkState: _only(ROUTER),
        host.JoinHost: _guest,
        host.HostJoined: _reply,
        host.LeaveHome: _host,
        host.RenewLease: _host,
        host.LeaseRenewed: _reply,
        host.SpawnOnHost: _only(SUPERVISOR),
        host.ProcessSpawned: _reply,
        host.SignalOnHost: _only(SUPERVISOR),
        host.ExitedOnHost: _host,
        host.InviteHost: _human_or_scaler,
        host.HostInvited: _reply,
        host.ListHosts: _only(HUMAN, SCALER),
        host.HostTable: _reply,
        host.ChangeHost: _human_or_scaler,
        host.MoveChild: _only(HUMAN),
        files.ListFiles: _worker,
        files.FilesListed: _reply,
        files.ReadFile: _worker,
        files.FilePart: _reply,
        files.ChangeFiles: _worker,
        files.FilesChanged: _reply,
        files.OfferFile: _worker,
        files.FileWanted: _reply,
        files.SendPart: _worker,
    }
)
MESSAGES: Final = tuple(RULES)
