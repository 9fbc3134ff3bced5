"""Endpoints: talking with an agent's entities, and answering their questions."""

from fastapi import APIRouter

from actors.gateway.api.dependencies import (
    After,
    Before,
    CallerDep,
    CauseDep,
    GatewayDep,
    Entity,
    Limit,
    AgentDep,
    RunDep,
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

router = APIRouter(tags=["conversation"])


@router.post("/agents/{agent}/send")
async def send_text(agent: AgentDep, body: SendTextRequest, gateway: GatewayDep, cause: CauseDep) -> SentView:
    """Send text to the coordinator, a worker or everyone."""
    return await say(gateway, agent, body.message, body.to, body.mode, cause, body.in_reply_to)


@router.post("/agents/{agent}/nudge")
async def send_nudge(agent: AgentDep, body: NudgeRequest, gateway: GatewayDep, cause: CauseDep) -> SentView:
    """Put an instruction into the running agent."""
    return await nudge(gateway, agent, body.message, cause)


@router.get("/agents/{agent}/conversation")
async def conversation(
    agent: AgentDep,
    gateway: GatewayDep,
    after: After = 0,
    before: Before = None,
    entity: Entity = None,
    limit: Limit = 100,
) -> ConversationPageView:
    """Page through the thread with an agent's entities, forwards or, with `before`, backwards."""
    return gateway.thread.page(agent.id, after, limit, before=before, entity=entity)


@router.get("/agents/{agent}/transcript")
def transcript(
    agent: AgentDep,
    run: RunDep,
    gateway: GatewayDep,
    entity: str = COORDINATOR_NAME,
    after: After = 0,
    before: Before = None,
    limit: Limit = 100,
) -> TranscriptPageView:
    """Page through what one entity heard, said and ran: the coordinator, or a worker of the run."""
    return transcript_page(transcript_of(gateway, agent, run, entity), after, limit, before)


@router.get("/agents/{agent}/messages")
async def messages(
    run: RunDep, after: After = 0, entity: Entity = None, limit: Limit = 1000
) -> list[MessageView]:
    """List the texts between all entities of a run, by default of the current one."""
    return read_messages(run.messages, after, limit, entity) if run else []


@router.post("/agents/{agent}/respond")
async def respond(
    agent: AgentDep, body: RespondRequest, gateway: GatewayDep, cause: CauseDep, caller: CallerDep
) -> QuestionView:
    """Answer an agent's question, by default its only open one."""
    named = body.question_id
    question_id = gateway.questions.meant(named) if named else only_open_question(gateway, agent, cause)
    by = _answerer(caller, gateway, question_id, body.by)
    answered = answer(gateway, question_id, body.response, by=by, via=body.via, cause=cause)
    return question_view(answered, agent.name)


@router.get("/questions")
async def questions(
    gateway: GatewayDep, status: QuestionStatus | None = None, limit: Limit = 1000
) -> list[QuestionView]:
    """List the questions to the human, oldest first: the open ones, and the newest `limit`."""
    names = {agent.id: agent.name for agent in gateway.agents.all()}
    return [
        question_view(question, names.get(question.agent, ""))
        for question in gateway.questions.listed(limit, status)
    ]


@router.post("/questions/{question_id}/respond")
async def respond_to(
    question_id: str, body: AnswerRequest, gateway: GatewayDep, cause: CauseDep, caller: CallerDep
) -> QuestionView:
    """Answer one question by its id, or by how that begins."""
    question_id = gateway.questions.meant(question_id)
    by = _answerer(caller, gateway, question_id, body.by)
    question = answer(gateway, question_id, body.answer, by=by, via=body.via, cause=cause)
    agent = gateway.agents.get(question.agent)
    return question_view(question, agent.name if agent else "")


def _answerer(caller: Principal, gateway: Gateway, question_id: str, named: str | None) -> str | None:
    """Return by whom a question is answered; None is the person whose home this is.

    A token that may not control speaks for itself alone, and approves nothing: an approval opens
    what the rules have closed, and money is the person's. Raises ApiError 403.
    """
    question = gateway.questions.get(question_id)
    may_control = caller.may("control")
    if question is not None and question.kind != "question" and not may_control:
        what = "an approval" if question.kind == "approval" else "more money"
        raise ApiError(403, f"{what} needs the scope 'control', not '{caller.scope}'")
    own = None if caller.name == HOME_TOKEN else caller.name
    return (named or own) if may_control else own
