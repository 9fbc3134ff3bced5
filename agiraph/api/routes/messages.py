"""Endpoints for conversations with an agent's entities, and answers to their questions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query

from agiraph.agent.replies import ReplyReference, quote
from agiraph.api.auth.scopes import READ, TALK
from agiraph.api.call_cause import CallCause
from agiraph.api.gateway import Gateway
from agiraph.api.routes.attachments import attachment_of
from agiraph.api.routes.dependencies import (
    After,
    AgentDep,
    Before,
    CauseDep,
    Entity,
    GatewayDep,
    Limit,
    Other,
    RunDep,
    Search,
)
from agiraph.api.strict_json import StrictRoute
from agiraph.core.ids import (
    COORDINATOR_NAME,
    HUMAN_NAME,
    Address,
    MessageId,
    coordinator_address,
    worker_address,
)
from agiraph.core.models import Agent, DeliveryMode
from agiraph.http.api import (
    ApiError,
    ConversationPageView,
    InboxView,
    MarkReadRequest,
    MessageView,
    NudgeRequest,
    SendTextRequest,
    SentView,
    TranscriptPageView,
)
from agiraph.messages.text import TextMessage
from agiraph.readmodel.message_log import read_messages
from agiraph.readmodel.names import member_named
from agiraph.readmodel.transcripts import transcript_page
from agiraph.storage.home import RunHome

JsonObject = dict[str, Any]

EVERYONE = "*"
NOTHING = ReplyReference()

Receiver = tuple[str, Address]
EVENT_OF = {"text": "message.sent", "nudge": "human.nudge"}


@dataclass(frozen=True, slots=True)
class OutgoingText:
    """A text of the person; `kind` is the kind of its entry in the conversation."""

    content: str
    mode: DeliveryMode
    kind: str
    reference: ReplyReference = NOTHING

    def to(self, name: str, copy_of: str = "") -> TextMessage:
        """Return the message to the receiver `name`; `copy_of` is the id of a text to several."""
        return TextMessage(
            content=self.content,
            from_name=HUMAN_NAME,
            to_name=name,
            mode=self.mode,
            in_reply_to=self.reference.message,
            quoted=self.reference.quoted,
            copy_of=copy_of,
        )


INTERRUPTION = OutgoingText(
    "I have interrupted your work. Check the state of your work, then continue with the "
    "important part. Ask me if my request is unclear.",
    "interrupt",
    "text",
)
"""The text that an entity receives when a person interrupts it without a message."""

router = APIRouter(route_class=StrictRoute, tags=["conversation"])


@router.post("/agents/{agent}/send", dependencies=[TALK])
async def send_text(
    agent: AgentDep, body: SendTextRequest, gateway: GatewayDep, cause: CauseDep
) -> SentView:
    """Send text to the coordinator, a worker or everyone."""
    answered, to = None, body.to
    if body.in_reply_to is not None:
        answered = gateway.messages.find(agent.id, body.in_reply_to)
        if to is None:
            to = answered.to if answered.sender == HUMAN_NAME else answered.sender
    receivers = _receivers(gateway, agent, to)
    if answered is None and len(receivers) == 1:  # then the last writer is answered
        answered = gateway.messages.unanswered(agent.id, receivers[0][0])
    reference = ReplyReference(answered.id, quote(answered.content)) if answered else NOTHING
    content = body.message + _attached(gateway.agents.run_of(agent), body.attachments)
    text = OutgoingText(content, body.mode, "text", reference)
    return await send_texts(gateway, agent, receivers, text, cause)


async def tell_coordinator(
    gateway: Gateway, agent: Agent, content: str, cause: CallCause
) -> SentView:
    """Send text to the coordinator in the person's name; return the sent text.

    Raises ApiError.
    """
    receivers = _receivers(gateway, agent, None)
    return await send_texts(
        gateway, agent, receivers, OutgoingText(content, "steer", "text"), cause
    )


def _attached(run: RunHome | None, paths: Sequence[str]) -> str:
    """Return the line that names the attachments; raise ApiError 404 for a missing file."""
    found = [attachment_of(run, path) for path in paths]
    named = ", ".join(f"{file.path} ({file.size} bytes)" for file in found)
    return f"\n\nAttached: {named}" if found else ""


@router.post("/agents/{agent}/nudge", dependencies=[TALK])
async def send_nudge(
    agent: AgentDep, body: NudgeRequest, gateway: GatewayDep, cause: CauseDep
) -> SentView:
    """Send an instruction to the running agent's coordinator."""
    receivers = _receivers(gateway, agent, None)
    return await send_texts(
        gateway, agent, receivers, OutgoingText(body.message, "steer", "nudge"), cause
    )


@router.get("/agents/{agent}/conversation", dependencies=[READ])
async def conversation(
    agent: AgentDep,
    gateway: GatewayDep,
    after: After = 0,
    before: Before = None,
    entity: Entity = None,
    limit: Limit = 100,
    search: Search = "",
) -> ConversationPageView:
    """Page through the conversation with an agent's entities, backwards with `before`."""
    return gateway.messages.page(
        agent.id, after, limit, before=before, entity=entity, search=search
    )


@router.get("/inbox", dependencies=[READ])
async def inbox(gateway: GatewayDep) -> list[InboxView]:
    """Count the messages that the person has not read, agent by agent."""
    return [_inbox(gateway, agent) for agent in gateway.agents.all()]


@router.post("/agents/{agent}/read", dependencies=[TALK])
async def mark_read(agent: AgentDep, body: MarkReadRequest, gateway: GatewayDep) -> InboxView:
    """Record that the person has read an agent's conversation, or the part with one entity."""
    gateway.messages.mark_read(agent.id, body.seq, _author(gateway, agent, body.entity))
    return _inbox(gateway, agent)


def _inbox(gateway: Gateway, agent: Agent) -> InboxView:
    unread = gateway.messages.unread(agent.id)
    return InboxView(
        agent=agent.id,
        agent_name=agent.name,
        read_to=gateway.messages.read_to(agent.id),
        read_with=gateway.messages.read_with(agent.id),
        unread=sum(unread.values()),
        by_entity=unread,
    )


def _author(gateway: Gateway, agent: Agent, entity: str | None) -> str | None:
    """Return the author name for `entity`: an author in the conversation, or a team member.

    Raises ApiError 404, 409.
    """
    if entity is None or gateway.messages.page(agent.id, 0, 1, entity=entity).messages:
        return entity
    worker = member_named(agent, gateway.boards.get(gateway.agents.run_of(agent)), entity)
    return worker.name if worker else COORDINATOR_NAME


@router.get("/agents/{agent}/transcript", dependencies=[READ])
def transcript(
    agent: AgentDep,
    run: RunDep,
    gateway: GatewayDep,
    entity: str = COORDINATOR_NAME,
    after: After = 0,
    before: Before = None,
    limit: Limit = 100,
    search: Search = "",
    step: Annotated[
        str, Query(max_length=200, description="Only the tool call of this step.")
    ] = "",
) -> TranscriptPageView:
    """Page through the transcript of one entity: the coordinator, or a worker of the run."""
    path = transcript_of(gateway, agent, run, entity)
    return transcript_page(path, after, limit, before, search, step)


@router.get("/agents/{agent}/messages", dependencies=[READ])
def messages(
    run: RunDep,
    after: After = 0,
    before: Before = None,
    entity: Entity = None,
    other: Other = None,
    limit: Limit = 1000,
) -> list[MessageView]:
    """List the texts between all entities of a run, or two; with `before` the last earlier ones."""
    if run is None:
        return []
    return read_messages(run.messages, after, limit, entity, other=other, before=before)


def _receivers(gateway: Gateway, agent: Agent, to: str | None) -> list[Receiver]:
    """Return names and addresses of the receivers `to`; raise ApiError 404, 409 listing them."""
    coordinator = (COORDINATOR_NAME, coordinator_address(agent.id))
    to = to.removeprefix("@") if to else to
    if to is None or to.lower() in (COORDINATOR_NAME, agent.id, agent.name.lower()):
        return [coordinator]
    board = gateway.boards.get(gateway.agents.run_of(agent))
    team = [worker for worker in board.workers.values() if worker.status != "stopped"]
    if to == EVERYONE:
        workers = [(worker.name, worker_address(agent.id, worker.id)) for worker in team]
        return [coordinator, *workers]
    worker = member_named(agent, board, to, "recipient")
    if worker is None:
        return [coordinator]
    if worker.status == "stopped":
        names = ", ".join([COORDINATOR_NAME, *(other.name for other in team)])
        raise ApiError(409, f"worker '{worker.name}' has stopped (at work: {names})")
    return [(worker.name, worker_address(agent.id, worker.id))]


async def send_texts(
    gateway: Gateway, agent: Agent, receivers: list[Receiver], text: OutgoingText, cause: CallCause
) -> SentView:
    """Send to each receiver, then record the texts that the router accepted; some may fail."""
    id = cause.message(f"{text.kind} of {agent.id}")
    copy_of = id.hex() if len(receivers) > 1 else ""
    reached: list[str] = []
    problem: ApiError | None = None
    for name, address in receivers:
        own = id if len(receivers) == 1 else cause.message(f"{text.kind} to {address}")
        try:
            await gateway.bus.send(address, text.to(name, copy_of), id=own)
        except ApiError as error:
            problem = error
            continue
        reached.append(name)
    if problem is not None and not reached:
        raise problem
    await _record(gateway, agent, text, EVERYONE if len(receivers) > 1 else reached[0], id, cause)
    return SentView(id=id.hex(), to=tuple(reached), ts=cause.at)


async def _record(
    gateway: Gateway, agent: Agent, text: OutgoingText, to: str, id: MessageId, cause: CallCause
) -> None:
    """Write a sent text into the conversation and report the event."""
    in_reply_to = text.reference.message
    gateway.messages.add(
        id=id.hex(),
        agent=agent.id,
        sender=HUMAN_NAME,
        to=to,
        content=text.content,
        ts=cause.at,
        kind=text.kind,
        in_reply_to=in_reply_to,
    )
    data = {"from": HUMAN_NAME, "to": to, "content": text.content, "mode": text.mode}
    data |= {"id": id.hex()} | ({"in_reply_to": in_reply_to} if in_reply_to else {})
    await gateway.reporter.report(EVENT_OF[text.kind], agent.id, id, data)


def transcript_of(gateway: Gateway, agent: Agent, run: RunHome | None, entity: str) -> Path:
    """Return the journal of an agent's coordinator, or of a worker of the run, by name or id.

    Raises ApiError 404, 409 that list the known names.
    """
    worker = member_named(agent, gateway.boards.get(run), entity)
    if worker is None or run is None:  # a board without a run has no workers
        return gateway.agents.home_of(agent).conversation
    return run.worker(worker.id).conversation
