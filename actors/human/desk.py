"""The bus loop of the human: one handler per kind of message that arrives there.

A durable message is done only when its effect is journaled; on a full disk that waits for room. One
that is delivered again (its id stands in a journal) leaves no second trace.
"""

from functools import partial

from actors.human.gateway import Gateway
from actors.human.standing import answer_by_standing
from agiraph.ids import COORDINATOR_NAME, HUMAN_NAME, RESERVED_NAMES, AgentId, agent_of
from agiraph.messages import (
    AskQuestion,
    ChildFailed,
    DeadLetter,
    EventAppended,
    Status,
    Text,
    WithdrawQuestion,
)
from agiraph.storage.room import outlasting
from transport.endpoint import Received

NOBODY = AgentId("")


async def attend(gateway: Gateway) -> None:
    """Take message after message, for ever."""
    while True:
        received = await gateway.line.receive()
        await outlasting(partial(handle, gateway, received))
        gateway.line.done(received)


async def handle(gateway: Gateway, received: Received) -> None:
    """Give one message its effect."""
    match received.body:
        case Text():
            await _take_text(gateway, received, received.body)
        case AskQuestion():
            await _take_question(gateway, received, received.body)
        case WithdrawQuestion(question_id=id, reason=reason):
            gateway.questions.withdraw_one(received.header.sender, id, reason, gateway.clock.now())
            gateway.postman.ring()
        case ChildFailed():
            await _take_failure(gateway, received, received.body)
        case DeadLetter():
            await _take_letter(gateway, received, received.body)
        case EventAppended():
            gateway.tallies.events.update(received.body.counts)
            gateway.bells.ring(received.body.event.agent_id)
            gateway.orphans.ring(received.body.event.agent_id)
        case Status():
            header = received.header
            gateway.statuses.hear(header.sender, header.incarnation, received.body, header.sent_at)
        case _ if received.header.reply_to is not None:
            pass  # an answer that came after its asker had given up waiting
        case _:
            gateway.log.warning(
                "nobody here takes this", type=received.header.type, sender=received.header.sender
            )


async def _take_text(gateway: Gateway, received: Received, body: Text) -> None:
    header = received.header
    agent = agent_of(header.sender) or NOBODY
    sender = _shown_sender(header.sender, body.from_name)
    gateway.thread.add(
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
        await gateway.telling.tell("message.received", agent, header.id, data)


async def _take_question(gateway: Gateway, received: Received, body: AskQuestion) -> None:
    header = received.header
    name = _shown_sender(header.sender, body.from_name)
    within = body.deadline_seconds or _patience(gateway, body)
    asker = body.model_copy(update={"from_name": name, "deadline_seconds": within})
    question = gateway.questions.ask(asker, header.sender, header.id.hex(), header.sent_at)
    if question is None:
        question = gateway.questions.asked_by(header.id.hex())
        if question is None or question.status != "open":
            gateway.postman.ring()
            return
    if answer_by_standing(gateway.questions, question, gateway.clock.now()):
        gateway.postman.ring()
        return
    gateway.deadlines.ring()
    gateway.thread.add(
        id=f"question:{question.id}",
        agent=question.agent,
        sender=question.from_id,
        to=HUMAN_NAME,
        content=question.question,
        ts=question.asked_at,
        kind="question",
        question_id=question.id,
    )
    data = {
        "question_id": question.id,
        "question": question.question,
        "from": question.from_id,
        "channel": question.channel,
        "kind": question.kind,
        "urgency": question.urgency,
        "options": question.options,
        "deadline_at": question.deadline_at,
        "default": question.default,
    }
    cause = f"question:{question.id}".encode()
    await gateway.telling.tell("human.question", question.agent, cause, data, entity=header.sender)


def _patience(gateway: Gateway, body: AskQuestion) -> float | None:
    """Return how long a question waits that does not say so itself; None: for ever."""
    policy = gateway.config.questions
    if body.kind != "question":
        return policy.approval_deadline_seconds
    if body.urgency == "urgent":
        return policy.urgent_deadline_seconds or policy.deadline_seconds
    return policy.deadline_seconds


async def _take_failure(gateway: Gateway, received: Received, body: ChildFailed) -> None:
    agent = agent_of(body.address) or NOBODY
    gateway.thread.add(
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
        await gateway.telling.tell(
            "agent.failed" if is_coordinator else "entity.failed",
            agent,
            received.header.id,
            data,
            entity=body.address,
        )


async def _take_letter(gateway: Gateway, received: Received, letter: DeadLetter) -> None:
    """Keep a dead letter; only its own receiver is believed, for it may be sent back there."""
    if received.header.sender != letter.to:
        gateway.log.warning("not believed", sender=received.header.sender, type="control.dead")
        return
    gateway.dead.keep(letter, received.header.sent_at)
    agent = agent_of(letter.to)
    if agent:
        data = {"type": letter.type, "from": letter.sender, "cause": letter.cause}
        cause = received.header.id
        await gateway.telling.tell("message.dead", agent, cause, data, entity=letter.to)


def _shown_sender(address: str, claimed: str) -> str:
    """Return the name a sender is shown by: what it claims, unless that is somebody else's."""
    own = address.rpartition("/")[2]
    if own == COORDINATOR_NAME:
        return own
    return own if claimed.strip().lower() in RESERVED_NAMES or not claimed.strip() else claimed
