"""Endpoints: talking with an agent's entities, and answering their questions."""

from fastapi import APIRouter

from actors.gateway.api.dependencies import (
    After,
    Before,
    Calling,
    Caused,
    Door,
    Entity,
    Limit,
    Named,
    RunNamed,
)
from actors.gateway.auth.principals import Principal
from actors.gateway.gateway import Gateway
from actors.gateway.questions.question_records import question_view
from actors.gateway.resources.messages import answer, nudge, only_open_question, say
from actors.gateway.resources.transcripts import transcript_of, transcript_page
from actors.recorder.message_log import read_messages
from agiraph.core.ids import COORDINATOR_NAME
from agiraph.core.models import QuestionStatus
from agiraph.http.api import (
    AnswerRequest,
    ApiError,
    ConversationPageView,
    MessageView,
    NudgeRequest,
    QuestionView,
    RespondRequest,
    SendTextRequest,
    SentView,
    TranscriptPageView,
)
from agiraph.http.api.access import HOME_TOKEN

router = APIRouter()


@router.post("/agents/{agent}/send")
async def send_text(agent: Named, body: SendTextRequest, door: Door, cause: Caused) -> SentView:
    """Send text to the coordinator, a worker or everyone."""
    return await say(door, agent, body.message, body.to, body.mode, cause, body.in_reply_to)


@router.post("/agents/{agent}/nudge")
async def send_nudge(agent: Named, body: NudgeRequest, door: Door, cause: Caused) -> SentView:
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
) -> ConversationPageView:
    """Page through the thread with an agent's entities, forwards or, with `before`, backwards."""
    return door.thread.page(agent.id, after, limit, before=before, entity=entity)


@router.get("/agents/{agent}/transcript")
def transcript(
    agent: Named,
    run: RunNamed,
    door: Door,
    entity: str = COORDINATOR_NAME,
    after: After = 0,
    before: Before = None,
    limit: Limit = 100,
) -> TranscriptPageView:
    """Page through what one entity heard, said and ran: the coordinator, or a worker of the run."""
    return transcript_page(transcript_of(door, agent, run, entity), after, limit, before)


@router.get("/agents/{agent}/messages")
async def messages(
    run: RunNamed, after: After = 0, entity: Entity = None, limit: Limit = 1000
) -> list[MessageView]:
    """List the texts between all entities of a run, by default of the current one."""
    return read_messages(run.messages, after, limit, entity) if run else []


@router.post("/agents/{agent}/respond")
async def respond(
    agent: Named, body: RespondRequest, door: Door, cause: Caused, caller: Calling
) -> QuestionView:
    """Answer an agent's question, by default its only open one."""
    named = body.question_id
    question_id = door.questions.meant(named) if named else only_open_question(door, agent, cause)
    by = _answerer(caller, door, question_id, body.by)
    answered = answer(door, question_id, body.response, by=by, via=body.via, cause=cause)
    return question_view(answered, agent.name)


@router.get("/questions")
async def questions(
    door: Door, status: QuestionStatus | None = None, limit: Limit = 1000
) -> list[QuestionView]:
    """List the questions to the human, oldest first: the open ones, and the newest `limit`."""
    names = {agent.id: agent.name for agent in door.agents.all()}
    return [
        question_view(question, names.get(question.agent, ""))
        for question in door.questions.listed(limit, status)
    ]


@router.post("/questions/{question_id}/respond")
async def respond_to(
    question_id: str, body: AnswerRequest, door: Door, cause: Caused, caller: Calling
) -> QuestionView:
    """Answer one question by its id, or by how that begins."""
    question_id = door.questions.meant(question_id)
    by = _answerer(caller, door, question_id, body.by)
    question = answer(door, question_id, body.answer, by=by, via=body.via, cause=cause)
    agent = door.agents.get(question.agent)
    return question_view(question, agent.name if agent else "")


def _answerer(caller: Principal, door: Gateway, question_id: str, named: str | None) -> str | None:
    """Return by whom a question is answered; None is the person whose home this is.

    A token that may not control speaks for itself alone, and approves nothing: an approval opens
    what the rules have closed, and money is the person's. Raises ApiError 403.
    """
    question = door.questions.get(question_id)
    may_control = caller.may("control")
    if question is not None and question.kind != "question" and not may_control:
        what = "an approval" if question.kind == "approval" else "more money"
        raise ApiError(403, f"{what} needs the scope 'control', not '{caller.scope}'")
    own = None if caller.name == HOME_TOKEN else caller.name
    return (named or own) if may_control else own
