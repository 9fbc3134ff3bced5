"""The person speaks: texts and nudges to an agent's entities, and answers to their questions."""

from actors.gateway.bus_client import deliver
from actors.gateway.call_cause import CallCause
from actors.gateway.gateway import Gateway
from actors.gateway.questions.outcomes import write_outcome
from agiraph.agent.replies import ReplyReference, quote
from agiraph.board.names import find_worker
from agiraph.core.errors import InvalidInput, unknown
from agiraph.core.ids import (
    COORDINATOR_NAME,
    HUMAN_NAME,
    Address,
    abbreviated,
    coordinator_address,
    worker_address,
)
from agiraph.core.models import BUDGET, Agent, DeliveryMode, Question
from agiraph.core.money import Unit, parse_raise
from agiraph.http.api import ApiError, SentView
from agiraph.messages import TextMessage
from agiraph.tools.approvals.wording import parse_verdict

EVERYONE = "*"
DEFAULT_CHANNEL = "api"
NOTHING = ReplyReference()

Receiver = tuple[str, Address]


async def say(
    gateway: Gateway,
    agent: Agent,
    message: str,
    to: str | None,
    mode: DeliveryMode,
    cause: CallCause,
    in_reply_to: str | None = None,
) -> SentView:
    """Send text to the coordinator, a worker or everyone; return when the router holds it all.

    What it replies to, if that is not named, follows from who wrote to whom last.
    """
    answered = None if in_reply_to is None else gateway.thread.find(agent.id, in_reply_to)
    if answered is not None and to is None:
        to = answered.to if answered.sender == HUMAN_NAME else answered.sender
    receivers = _receivers(gateway, agent, to)
    if answered is None and len(receivers) == 1:
        answered = gateway.thread.unanswered(agent.id, receivers[0][0])
    link = (
        ReplyReference(answered.id, quote(answered.content))
        if answered is not None
        else ReplyReference()
    )
    return await _send(
        gateway, agent, receivers, message, mode, "text", "message.sent", cause, link
    )


async def nudge(gateway: Gateway, agent: Agent, message: str, cause: CallCause) -> SentView:
    """Put an instruction into the running agent."""
    receivers = _receivers(gateway, agent, None)
    return await _send(gateway, agent, receivers, message, "steer", "nudge", "human.nudge", cause)


def answer(
    gateway: Gateway,
    question_id: str,
    text: str,
    *,
    by: str | None = None,
    via: str | None = None,
    cause: CallCause | None = None,
) -> Question:
    """Answer a question; the journal holds the answer when this returns, the postman brings it.

    `by` is who answers, `via` over which channel; the same `cause` again is the same answer.
    Raises ApiError 409 that tells who came first.
    """
    known_as = cause.id if cause else ""
    now, asked = gateway.clock.now(), gateway.questions.get(question_id)
    if asked is not None and asked.kind == "approval":
        try:
            text = parse_verdict(text).text
        except InvalidInput as error:
            raise ApiError(422, str(error)) from None
    if asked is not None and asked.kind == BUDGET:
        text = _raise_in_words(asked, text)
    try:
        question = gateway.questions.answer(
            question_id, text, by or HUMAN_NAME, now, via or DEFAULT_CHANNEL, known_as
        )
    finally:  # also when it was too late: its asker has to be told
        gateway.answer_delivery.ring()
    write_outcome(gateway.thread, question)
    return question


def _raise_in_words(asked: Question, text: str) -> str:
    """Return an answer to a spent budget in its one written form; ApiError 422."""
    unit: Unit = "tokens" if asked.about and asked.about.subject == "tokens" else "usd"
    try:
        return parse_raise(text, unit).text
    except InvalidInput as error:
        raise ApiError(422, str(error)) from None


def only_open_question(gateway: Gateway, agent: Agent, cause: CallCause) -> str:
    """Return the id of the agent's open question, or of the one that this call has answered.

    Raises ApiError 409 if there is not just one.
    """
    if (before := gateway.questions.answered_as(cause.id)) is not None:
        return before
    waiting = gateway.questions.open(agent.id)
    if len(waiting) == 1:
        return waiting[0].id
    if not waiting:
        raise ApiError(409, f"agent '{agent.name}' has no open question")
    listing = "; ".join(
        f"{abbreviated(question.id)}: {question.question[:80]}" for question in waiting
    )
    raise ApiError(409, f"agent '{agent.name}' has several open questions, name one ({listing})")


def _receivers(gateway: Gateway, agent: Agent, to: str | None) -> list[Receiver]:
    """Return the names and addresses that `to` means; raise ApiError 404 listing the known."""
    coordinator = (COORDINATOR_NAME, coordinator_address(agent.id))
    if to is None or to.lower() in (COORDINATOR_NAME, agent.id, agent.name.lower()):
        return [coordinator]
    board = gateway.boards.of(gateway.agents.run_of(agent))
    team = [worker for worker in board.workers.values() if worker.status != "stopped"]
    if to == EVERYONE:
        workers = [(worker.name, worker_address(agent.id, worker.id)) for worker in team]
        return [coordinator, *workers]
    try:
        worker = find_worker(board, to)
    except InvalidInput:
        named = dict.fromkeys(member.name for member in board.workers.values())
        known = [COORDINATOR_NAME, *named, EVERYONE]
        raise ApiError(404, str(unknown("recipient", to, known))) from None
    if worker.status == "stopped":
        names = ", ".join([COORDINATOR_NAME, *(other.name for other in team)])
        raise ApiError(409, f"worker '{worker.name}' has stopped (at work: {names})")
    return [(worker.name, worker_address(agent.id, worker.id))]


async def _send(
    gateway: Gateway,
    agent: Agent,
    receivers: list[Receiver],
    message: str,
    mode: DeliveryMode,
    kind: str,
    event: str,
    cause: CallCause,
    link: ReplyReference = NOTHING,
) -> SentView:
    """Send to each receiver, then write down and tell what the router has taken."""
    id, ts = cause.message(f"{kind} of {agent.id}"), cause.at
    reached: list[str] = []
    problem: ApiError | None = None
    for name, address in receivers:
        body = TextMessage(
            content=message,
            from_name=HUMAN_NAME,
            to_name=name,
            mode=mode,
            in_reply_to=link.message,
            quoted=link.quoted,
        )
        own = id if len(receivers) == 1 else cause.message(f"{kind} to {address}")
        try:
            await deliver(gateway.line, address, body, id=own)
        except ApiError as error:
            problem = error
            continue
        reached.append(name)
    if problem is not None and not reached:
        raise problem
    shown = EVERYONE if len(receivers) > 1 else reached[0]
    gateway.thread.add(
        id=id.hex(),
        agent=agent.id,
        sender=HUMAN_NAME,
        to=shown,
        content=message,
        ts=ts,
        kind=kind,
        in_reply_to=link.message,
    )
    data = {"from": HUMAN_NAME, "to": shown, "content": message, "mode": mode, "id": id.hex()}
    data |= {"in_reply_to": link.message} if link.message else {}
    await gateway.telling.tell(event, agent.id, id, data)
    return SentView(id=id.hex(), to=tuple(reached), ts=ts)
