"""Endpoints: talking with an agent's entities, and answering their questions."""

from fastapi import APIRouter

from actors.human.cases import question_view
from actors.human.routes.asking import After, Before, Caused, Door, Entity, Limit, Named, RunNamed
from actors.human.speaking import answer, nudge, only_open_question, say
from actors.message_log import read_message_log
from agiraph.api import (
    Answer,
    ConversationPage,
    MessageView,
    Nudge,
    QuestionView,
    Respond,
    SendText,
    Sent,
)
from agiraph.models import QuestionStatus

router = APIRouter()


@router.post("/agents/{agent}/send")
async def send_text(agent: Named, body: SendText, door: Door, cause: Caused) -> Sent:
    """Send text to the coordinator, a worker or everyone."""
    return await say(door, agent, body.message, body.to, body.mode, cause, body.in_reply_to)


@router.post("/agents/{agent}/nudge")
async def send_nudge(agent: Named, body: Nudge, door: Door, cause: Caused) -> Sent:
    """Put an instruction into the running agent."""
    return await nudge(door, agent, body.message, cause)


@router.get("/agents/{agent}/conversation")
async def conversation(
    agent: Named,
    door: Door,
    after: After = 0,
    before: Before = None,
    entity: Entity = None,
    limit: Limit = 100,
) -> ConversationPage:
    """Page through the thread with an agent's entities, forwards or, with `before`, backwards."""
    return door.thread.page(agent.id, after, limit, before=before, entity=entity)


@router.get("/agents/{agent}/messages")
async def messages(
    run: RunNamed, after: After = 0, entity: Entity = None, limit: Limit = 1000
) -> list[MessageView]:
    """List the texts between all entities of a run, by default of the current one."""
    found = read_message_log(run.messages) if run else []
    wanted = entity.casefold() if entity else ""
    return [
        message
        for message in found
        if message.seq > after
        and (not wanted or wanted in (message.sender.casefold(), message.to.casefold()))
    ][:limit]


@router.post("/agents/{agent}/respond")
async def respond(agent: Named, body: Respond, door: Door, cause: Caused) -> QuestionView:
    """Answer an agent's question, by default its only open one."""
    question_id = body.question_id or only_open_question(door, agent, cause)
    answered = answer(door, question_id, body.response, by=body.by, via=body.via, cause=cause)
    return question_view(answered, agent.name)


@router.get("/questions")
async def questions(door: Door, status: QuestionStatus | None = None) -> list[QuestionView]:
    """List the questions to the human, oldest first."""
    names = {agent.id: agent.name for agent in door.agents.all()}
    return [
        question_view(question, names.get(question.agent, ""))
        for question in door.questions.all()
        if status in (None, question.status)
    ]


@router.post("/questions/{question_id}/respond")
async def respond_to(question_id: str, body: Answer, door: Door, cause: Caused) -> QuestionView:
    """Answer one question by its id."""
    question = answer(door, question_id, body.answer, by=body.by, via=body.via, cause=cause)
    agent = door.agents.get(question.agent)
    return question_view(question, agent.name if agent else "")
