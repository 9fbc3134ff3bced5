"""Endpoints behind an answer link: show one question (GET changes nothing), and answer it.

The link's token is the only right that is asked for, and it is good for nothing else. A mail
scanner that fetches links sees a form, and answers nothing.
"""

from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from actors.gateway.api.dependencies import GatewayDep
from actors.gateway.api.questions import answer
from actors.gateway.gateway import Gateway
from actors.gateway.questions.answer_page import POLICY, page, question_page, thanks_page
from agiraph.core.errors import InvalidInput
from agiraph.core.models import Question
from agiraph.http.errors import ApiError

router = APIRouter(tags=["answer_links"], include_in_schema=False)
HEADERS = {"content-security-policy": POLICY, "x-robots-tag": "noindex"}
LONGEST = 20_000
VIA = "link"


@router.get("/answer/{token}")
async def look(token: str, gateway: GatewayDep) -> HTMLResponse:
    """Show the question and a form."""
    try:
        question = _question(gateway, token)
    except ApiError as error:
        return _refusal(error)
    return _html(question_page(question, _agent(gateway, question)))


@router.post("/answer/{token}")
async def take(token: str, request: Request, gateway: GatewayDep) -> HTMLResponse:
    """Answer the question; 409 names who answered it before."""
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
