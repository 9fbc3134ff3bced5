"""The bus loop of the human: one handler for each kind of message.

A durable message is acknowledged once its effect is on disk; on a full disk it waits for room. A
repeated message has no second effect: its id is known.
"""

from functools import partial

from actors.gateway.knowledge_requests import KnowledgeRequestHandler
from actors.runtime.runtime import Runtime
from agiraph.api.gateway import Gateway
from agiraph.core.errors import AgiraphError, InvalidInput
from agiraph.core.ids import COORDINATOR_NAME, HUMAN_NAME, AgentId, NodeId, WorkerId, agent_of
from agiraph.core.models import BUDGET
from agiraph.core.money import named_in, options_as_read, question_as_read, unit_in
from agiraph.http.errors import ApiError
from agiraph.inbox.approval_grants import answer_by_standing
from agiraph.messages.authorization import is_coordinator, owns_budget, shown_name
from agiraph.messages.child import ChildFailed, ChildHeartbeat
from agiraph.messages.control import DeadLetter
from agiraph.messages.event import EventAppended
from agiraph.messages.host import HostRefused
from agiraph.messages.model import StreamDelta
from agiraph.messages.question import AskQuestion, WithdrawQuestion
from agiraph.messages.text import TextMessage
from agiraph.storage.disk_space import outlasting
from agiraph.tools.approvals.wording import approval_as_read
from transport.endpoint import Received

LONGEST_SECONDS = 1e9
"""The longest deadline, some thirty years: a later deadline is no valid date."""
NOBODY = AgentId("")
REPORTED = {"question", "channel", "kind", "urgency", "options", "deadline_at", "default"}
"""The fields of a question that its event contains too."""


async def attend(gateway: Gateway, runtime: Runtime, handler: KnowledgeRequestHandler) -> None:
    """Handle messages until cancelled; those for the knowledge database beside the others."""
    while True:
        received = await runtime.receive()
        if handler.begin(received):
            continue
        await outlasting(partial(handle, gateway, received))
        runtime.done(received)


async def handle(gateway: Gateway, received: Received) -> None:
    """Apply one message to the inbox, the event feed or the waiting callers."""
    match received.body:
        case TextMessage():
            await _on_text(gateway, received, received.body)
        case AskQuestion():
            await _on_question(gateway, received, received.body)
        case WithdrawQuestion(question_id=id, reason=reason):
            gateway.questions.withdraw_own(received.header.sender, id, reason, gateway.clock.now())
            gateway.answer_delivery.notify()
        case ChildFailed():
            await _on_failure(gateway, received, received.body)
        case DeadLetter():
            await _on_dead_letter(gateway, received, received.body)
        case EventAppended(event=event, counts=counts):
            gateway.counters.events.update(counts)
            gateway.signals.notify(event.agent_id)
            gateway.changes.log_grew(event.agent_id, event.seq, counts or (event.type,))
            gateway.answer_delivery.on_event(event.agent_id)
        case ChildHeartbeat(doing=doing):
            header = received.header
            if gateway.activities.record(header.sender, header.incarnation, doing):
                gateway.changes.note("entity", header.sender)
        case HostRefused() as refusal:
            gateway.when_refused(refusal, received.header.id.hex())
        case StreamDelta() as delta:
            gateway.streams.on_delta(delta)
        case _ if received.header.reply_to is not None:
            pass  # a reply that came after its request had timed out
        case _:
            gateway.log.warning(
                "not handled here", type=received.header.type, sender=received.header.sender
            )


async def _on_text(gateway: Gateway, received: Received, body: TextMessage) -> None:
    header = received.header
    agent = agent_of(header.sender) or NOBODY
    sender = shown_name(header.sender, body.from_name)
    gateway.messages.add(
        id=header.id.hex(),
        agent=agent,
        sender=sender,
        to=HUMAN_NAME,
        content=body.content,
        ts=header.sent_at,
        in_reply_to=body.in_reply_to,
    )
    if agent:
        data = {"from": sender, "to": HUMAN_NAME, "content": body.content, "id": header.id.hex()}
        data |= {"in_reply_to": body.in_reply_to} if body.in_reply_to else {}
        await gateway.reporter.report("message.received", agent, header.id, data)


async def _on_question(gateway: Gateway, received: Received, body: AskQuestion) -> None:
    header = received.header
    if not _is_about_own_money(gateway, body):
        gateway.log.warning("not authorized", sender=header.sender, type=header.type)
        return
    body, refusal = _as_read(gateway, body, header.sender)
    name = shown_name(header.sender, body.from_name)
    within = body.deadline_seconds or _deadline_seconds(gateway, body)
    within = within and min(within, LONGEST_SECONDS)
    asker = body.model_copy(update={"from_name": name, "deadline_seconds": within})
    question = gateway.questions.ask(asker, header.sender, header.id.hex(), header.sent_at)
    if question is None:
        question = gateway.questions.asked_by(header.id.hex())
        if question is None or question.status != "open":
            gateway.answer_delivery.notify()
            return
    if refusal:
        gateway.log.warning("an approval is refused", sender=header.sender, reason=refusal)
        gateway.questions.withdraw_one(question.id, refusal, gateway.clock.now())
        gateway.answer_delivery.notify()
        return
    if answer_by_standing(gateway.questions, question, gateway.clock.now()):
        gateway.answer_delivery.notify()
        return
    gateway.answer_delivery.notify()
    gateway.messages.add(
        id=f"question:{question.id}",
        agent=question.agent,
        sender=question.from_id,
        to=HUMAN_NAME,
        content=question.question,
        ts=question.asked_at,
        kind="question",
        question_id=question.id,
    )
    data = {"question_id": question.id, "from": question.from_id}
    data |= question.model_dump(include=REPORTED)
    cause = f"question:{question.id}".encode()
    await gateway.reporter.report(
        "human.question", question.agent, cause, data, entity=header.sender
    )


def _as_read(gateway: Gateway, body: AskQuestion, sender: str) -> tuple[AskQuestion, str]:
    """Return a question with the text for the person, and why it is refused ('': accepted).

    The effect of an answer is in `about`: for an approval and for a budget increase the text and
    the possible answers are derived from it, and the sender's text is ignored. Any other question
    is about no action.
    """
    match body.kind:
        case "approval":
            names = _names_of(gateway, sender)
            try:
                return approval_as_read(body, gateway.policies.current(), names), ""
            except InvalidInput as error:
                text = "May I do what no rule of approvals.yaml asks for?"
                refused = {"question": text, "options": (), "about": None, "shared": False}
                return body.model_copy(update=refused), str(error)
        case "budget":
            return _money_as_read(gateway, body), ""
        case _:
            return body.model_copy(update={"about": None}), ""


def _names_of(gateway: Gateway, sender: str) -> tuple[str, ...]:
    """Return an entity's name and role from the home's records, () if they do not contain it."""
    if is_coordinator(sender):
        return (COORDINATOR_NAME,)
    agent = gateway.agents.get(agent_of(sender) or NOBODY)
    if agent is None:
        return ()
    try:
        board = gateway.boards.get(gateway.agents.run_of(agent))
    except (AgiraphError, OSError):
        return ()
    worker = board.workers.get(WorkerId(sender.partition("/")[2]))
    return (worker.name, worker.role) if worker is not None else ()


def _money_as_read(gateway: Gateway, body: AskQuestion) -> AskQuestion:
    assert body.about is not None
    identity = body.about.shortage
    unit = unit_in(identity)
    about = body.about.model_copy(update={"tool": BUDGET, "subject": unit})
    text = question_as_read(identity, _named(gateway, body, identity), body.question)
    options = options_as_read(body.options, unit)
    shown = {"question": text, "options": options, "about": about, "default": None}
    return body.model_copy(update=shown)


def _named(gateway: Gateway, body: AskQuestion, identity: str) -> str:
    """Return a budget's agent or node as shown to people; '' if its key is shown."""
    budget, agent = named_in(identity), gateway.agents.get(body.agent)
    if budget is None or agent is None:
        return ""
    if budget.scope != "node":
        return agent.name if budget.scope == "agent" else ""
    run, node, *_ = (*budget.key.split("/"), "")
    try:
        found = gateway.boards.get(gateway.agents.run_of(agent, run)).nodes.get(NodeId(node))
    except (AgiraphError, ApiError, OSError):
        return ""  # a damaged board hides the name only
    return found.name if found else ""


def _is_about_own_money(gateway: Gateway, body: AskQuestion) -> bool:
    """Whether a question for more money is about the asking agent's own budget."""
    short = named_in(body.about.shortage) if body.kind == BUDGET and body.about else None
    if short is None:
        return body.kind != BUDGET
    agent = gateway.agents.get(body.agent)
    runs = (agent.run, *gateway.agents.runs_of(agent)) if agent is not None else ()
    return owns_budget(body.agent, short, has_run=lambda run: run in runs)


def _deadline_seconds(gateway: Gateway, body: AskQuestion) -> float | None:
    """Return how long a question that names no deadline waits; None: without a limit."""
    policy = gateway.config.questions
    if body.kind != "question":
        return policy.approval_deadline_seconds
    if body.urgency == "urgent":
        return policy.urgent_deadline_seconds or policy.deadline_seconds
    return policy.deadline_seconds


async def _on_failure(gateway: Gateway, received: Received, body: ChildFailed) -> None:
    agent = agent_of(body.address) or NOBODY
    gateway.messages.add(
        id=received.header.id.hex(),
        agent=agent,
        sender="supervisor",
        to=HUMAN_NAME,
        content=f"{body.address} was given up after too many restarts: {body.cause}",
        ts=received.header.sent_at,
        kind="notice",
    )
    if agent:
        is_coordinator = body.address.endswith(f"/{COORDINATOR_NAME}")
        data = {"address": body.address, "incarnation": body.incarnation, "reason": body.cause}
        if is_coordinator:
            data["failure_class"] = "process"
        await gateway.reporter.report(
            "agent.failed" if is_coordinator else "entity.failed",
            agent,
            received.header.id,
            data,
            entity=body.address,
        )


async def _on_dead_letter(gateway: Gateway, received: Received, letter: DeadLetter) -> None:
    gateway.dead_letters.add(letter, received.header.sent_at)
    agent = agent_of(letter.to)
    if agent:
        data = {"type": letter.type, "from": letter.sender, "cause": letter.cause}
        cause = received.header.id
        await gateway.reporter.report("message.dead", agent, cause, data, entity=letter.to)
