"""Endpoints that list and answer questions, and list the permissions of "allow always"."""

from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from agiraph.api.answer_page import POLICY, page, question_page, thanks_page
from agiraph.api.auth.credentials import Principal
from agiraph.api.auth.scopes import CONTROL, READ, TALK
from agiraph.api.call_cause import CallCause
from agiraph.api.gateway import Gateway
from agiraph.api.routes.dependencies import (
    AgentDep,
    CallerDep,
    CauseDep,
    GatewayDep,
    Limit,
)
from agiraph.api.strict_json import StrictRoute
from agiraph.core.errors import InvalidInput
from agiraph.core.ids import (
    HUMAN_NAME,
    abbreviated,
)
from agiraph.core.models import BUDGET, Agent, Question, QuestionStatus
from agiraph.core.money import Unit, parse_raise
from agiraph.http.api import (
    AnswerRequest,
    ApprovalView,
    QuestionView,
    RespondRequest,
)
from agiraph.http.api.access import HOME_TOKEN
from agiraph.http.errors import ApiError
from agiraph.inbox.approval_grants import approval_view, revoke, standing
from agiraph.inbox.question_records import question_view, write_outcome
from agiraph.tools.approvals.wording import parse_verdict

links = APIRouter(route_class=StrictRoute, tags=["answer_links"], include_in_schema=False)
HEADERS = {"content-security-policy": POLICY, "x-robots-tag": "noindex"}
LONGEST = 20_000
VIA = "link"

router = APIRouter(route_class=StrictRoute)


@router.post("/agents/{agent}/respond", dependencies=[TALK], tags=["conversation"])
async def respond(
    agent: AgentDep, body: RespondRequest, gateway: GatewayDep, cause: CauseDep, caller: CallerDep
) -> QuestionView:
    """Answer an agent's question, by default its only open one."""
    named = body.question_id
    question_id = (
        gateway.questions.meant(named) if named else only_open_question(gateway, agent, cause)
    )
    by = _answerer(caller, gateway, question_id, body.by)
    answered = answer(gateway, question_id, body.response, by=by, via=body.via, cause=cause)
    return question_view(answered, agent.name)


@router.get("/questions", dependencies=[READ], tags=["conversation"])
async def questions(
    gateway: GatewayDep, status: QuestionStatus | None = None, limit: Limit = 1000
) -> list[QuestionView]:
    """List the questions to the person, oldest first: all open ones, and the newest `limit`."""
    names = {agent.id: agent.name for agent in gateway.agents.all()}
    return [
        question_view(question, names.get(question.agent, ""))
        for question in gateway.questions.listed(limit, status)
    ]


@router.post("/questions/{question_id}/respond", dependencies=[TALK], tags=["conversation"])
async def respond_to(
    question_id: str, body: AnswerRequest, gateway: GatewayDep, cause: CauseDep, caller: CallerDep
) -> QuestionView:
    """Answer one question by its id, or by the beginning of its id."""
    question_id = gateway.questions.meant(question_id)
    by = _answerer(caller, gateway, question_id, body.by)
    question = answer(gateway, question_id, body.answer, by=by, via=body.via, cause=cause)
    agent = gateway.agents.get(question.agent)
    return question_view(question, agent.name if agent else "")


def _answerer(
    caller: Principal, gateway: Gateway, question_id: str, named: str | None
) -> str | None:
    """Return the name of the answerer; None is the owner of this home.

    A token without the scope `control` answers only in its own name and may not approve actions or
    money: an approval permits an action that the rules forbid. Raises ApiError 403.
    """
    question = gateway.questions.get(question_id)
    may_control = caller.may("control")
    if question is not None and question.kind != "question" and not may_control:
        what = "an approval" if question.kind == "approval" else "more money"
        raise ApiError(403, f"{what} needs the scope 'control', not '{caller.scope}'")
    own = None if caller.name == HOME_TOKEN else caller.name
    return (named or own) if may_control else own


DEFAULT_CHANNEL = "api"


def answer(
    gateway: Gateway,
    question_id: str,
    text: str,
    *,
    by: str | None = None,
    via: str | None = None,
    cause: CallCause | None = None,
) -> Question:
    """Answer a question; the answer is on disk when this returns, and delivered later.

    `by` is the answerer, `via` the channel; a repeated `cause` is the same answer. Raises ApiError
    409 that names the first answerer.
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
    gateway.answer_delivery.withdraw_if_over(question_id)
    try:
        question = gateway.questions.answer(
            question_id, text, by or HUMAN_NAME, now, via or DEFAULT_CHANNEL, known_as
        )
    finally:  # also after a late answer: the asker has to be notified
        gateway.answer_delivery.notify()
    write_outcome(gateway.messages, question)
    return question


def _raise_in_words(asked: Question, text: str) -> str:
    """Return the canonical form of an answer to a question for more budget. Raises ApiError 422."""
    unit: Unit = "tokens" if asked.about and asked.about.subject == "tokens" else "usd"
    try:
        return parse_raise(text, unit).text
    except InvalidInput as error:
        raise ApiError(422, str(error)) from None


def only_open_question(gateway: Gateway, agent: Agent, cause: CallCause) -> str:
    """Return the id of the agent's open question, or of the question that this call answered.

    Raises ApiError 409 unless there is exactly one.
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


@router.get("/approvals", dependencies=[READ], tags=["approvals"])
async def approvals(gateway: GatewayDep, agent: str | None = None) -> list[ApprovalView]:
    """List the permissions of "allow always", oldest first; of one agent, or of all."""
    wanted = gateway.agents.find(agent).id if agent else None
    names = {known.id: known.name for known in gateway.agents.all()}
    found = standing(gateway.questions, wanted)
    return [approval_view(case, names.get(case.question.agent, "")) for case in found]


@router.delete("/approvals/{approval}", dependencies=[CONTROL], tags=["approvals"])
async def revoke_approval(approval: str, gateway: GatewayDep) -> ApprovalView:
    """Revoke a permission: the next such action needs an approval again."""
    return revoke(gateway.questions, approval, gateway.clock.now())


@links.get("/answer/{token}")
async def look(token: str, gateway: GatewayDep) -> HTMLResponse:
    """Show the question and a form."""
    try:
        question = _question(gateway, token)
    except ApiError as error:
        return _refusal(error)
    return _html(question_page(question, _agent(gateway, question)))


@links.post("/answer/{token}")
async def take(token: str, request: Request, gateway: GatewayDep) -> HTMLResponse:
    """Answer the question; 409 names the first answerer."""
    try:
        question = _question(gateway, token)
    except ApiError as error:
        return _refusal(error)
    given = parse_qs((await request.body()).decode("utf-8", "replace"))
    text = next((given[name][0].strip() for name in ("option", "answer") if name in given), "")
    name = _agent(gateway, question)
    if not text or len(text) > LONGEST:
        problem = "There was no answer in it." if not text else f"At most {LONGEST} characters."
        return _html(question_page(question, name, problem), 422)
    try:
        answered = answer(gateway, question.id, text, via=VIA)
    except ApiError as error:
        second = "Your answer came second and was not taken."
        return _html(question_page(_question(gateway, token), name, second), error.status)
    return _html(thanks_page(answered, name))


def _question(gateway: Gateway, token: str) -> Question:
    try:
        id = gateway.dispatcher.links.question_of(token, gateway.clock.now())
    except InvalidInput as error:
        raise ApiError(404, str(error)) from None
    question = gateway.questions.get(id)
    if question is None:
        raise ApiError(404, "there is no such question any more")
    return question


def _agent(gateway: Gateway, question: Question) -> str:
    agent = gateway.agents.get(question.agent)
    return agent.name if agent else str(question.agent)


def _refusal(error: ApiError) -> HTMLResponse:
    text = error.detail[:1].upper() + error.detail[1:]
    return _html(page("No question here", f"<p>{text}.</p>"), error.status)


def _html(text: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(text, status, HEADERS)
