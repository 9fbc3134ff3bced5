"""The short way to an endpoint answers every call as FastAPI does, and does nothing twice."""

import asyncio
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode

import pytest
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.requests import HTTPConnection
from fastapi.routing import APIRoute
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from actors.gateway.auth.scopes import RouteRules, routes_of
from actors.gateway.http.app import HANDLERS, ROUTERS, GatewayApi
from actors.gateway.http.endpoint_parameters import JsonAnswers, plan_of
from actors.gateway.http.exchange import WHOLE, Message
from actors.gateway.http.fast_path import FastPath
from agiraph.http.api import ApiError

ONLY_FASTAPI = {
    *("/archive", "/archive/{agent}", "/agents/{agent}/transcript", "/tokens/{name}/rotate"),
    *("/agents/{agent}/memory", "/agents/{agent}/memory/search", "/agents/{agent}/workspace"),
    *("/agents/{agent}/memory/{path:path}", "/agents/{agent}/workspace/{path:path}"),
    *(f"/agents/{{agent}}/board/{{node}}/{what}" for what in ("log", "refs", "spec")),
    *(f"/agents/{{agent}}/board/{{node}}/{what}" for what in ("scratch", "published")),
    *(
        f"/agents/{{agent}}/board/{{node}}/{what}/{{path:path}}"
        for what in ("scratch", "published")
    ),
}
"""Those that work in a thread, since they read files or search, or take a body or none."""

router = APIRouter()
made: list[str] = []


class Note(BaseModel):
    """A body, and an answer that has a name of its own on the wire."""

    text: str = Field(min_length=1)
    many: tuple[int, ...] = ()
    sender: str | None = Field(None, alias="from")


async def door(connection: HTTPConnection) -> str:
    return f"{connection.app.title} {connection.headers.get('x-who', '')}"


Door = Annotated[str, Depends(door)]


async def thing(name: str, door: Door) -> str:
    made.append(name)
    if name == "none":
        raise ApiError(404, f"there is no '{name}'")
    return f"{name} of {door}"


Thing = Annotated[str, Depends(thing)]


@router.get("/things/{name}")
async def look(
    thing: Thing,
    door: Door,
    after: Annotated[int, Query(ge=0, le=99)] = 0,
    kind: Annotated[list[str] | None, Query()] = None,
    how: Literal["short", "long"] | None = None,
    is_full: bool = False,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
    seen: Annotated[int | None, Header(alias="Last-Seen", ge=0)] = None,
) -> list[str]:
    return [thing, door, f"{after} {kind} {how} {is_full} {accept} {seen}"]


@router.get("/needs")
async def needy(wanted: int) -> int:
    return wanted


@router.post("/things/{name}/{act}", status_code=201)
async def note(thing: Thing, act: Literal["a", "b"], body: Note, door: Door) -> Note:
    if body.text == "fault":
        raise RuntimeError("a fault")
    return body


@router.post("/raw")
async def raw(request: Request) -> Response:
    return Response(await request.body(), 202, media_type="text/plain")


APP = GatewayApi(title="it", exception_handlers=HANDLERS)
APP.include_router(router)
APP.rules = RouteRules(routes_of([router]))
LANE = FastPath(APP, APP.rules, HANDLERS)


def called(
    app: Any, method: str, path: str, query: str, headers: Any, body: bytes, whole: bool = False
) -> Any:
    """Return status, headers and body of what an application answers; or the fault it raises."""
    told: list[Message] = []
    pieces = [body[: len(body) // 2], body[len(body) // 2 :]]

    async def receive() -> Message:
        piece = pieces.pop(0) if pieces else b""
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def send(message: Message) -> None:
        told.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": headers,
        "state": {},
        "server": ("localhost", 80),
        "client": ("127.0.0.1", 1),
        **({WHOLE: True} if whole else {}),
    }
    try:
        asyncio.run(app(scope, receive, send))
        fault = ""
    except RuntimeError as error:
        fault = str(error)
    if told[0]["type"] == WHOLE:
        length = str(len(told[0]["body"])).encode()
        head = [(b"content-length", length), (b"content-type", b"application/json")]
        told = [{"status": told[0]["status"], "headers": head}, *told]
    answer = b"".join(message.get("body", b"") for message in told[1:])
    return told[0]["status"], sorted(told[0]["headers"]), answer, fault


QUERIES = st.lists(
    st.tuples(
        st.sampled_from(["after", "kind", "how", "is_full", "wanted", "other"]),
        st.sampled_from(["0", "7", "-1", "100", "1.5", "", "short", "true", "x y", "ü"]),
    ),
    max_size=4,
).map(urlencode)
HEADERS = st.lists(
    st.sampled_from(
        [
            *((b"last-seen", b"3"), (b"last-seen", b"-3"), (b"last-seen", b"x")),
            *((b"accept", b"text/plain"), (b"x-who", b"me")),
            *((b"content-type", kind) for kind in (b"application/json", b"text/plain", b"")),
            (b"content-type", b"Application/JSON; charset=utf-8"),
        ]
    ),
    max_size=3,
)
PATHS = st.sampled_from(
    [
        *("/things/x", "/things/none", "/things/x/a", "/things/none/b", "/things/x/c"),
        *("/needs", "/raw", "/nothing", f"/things/{quote('ü')}", "/things/x/"),
    ]
)
BODIES = st.sampled_from(
    [
        *(b"", b"{}", b"null", b"[1]", b'"x"', b"{", b'{"text": "t"}', b'{"text": ""}'),
        *(b'{"text": "t", "many": [1, "2"], "from": "me"}', b'{"text": "t", "many": ["x"]}'),
        *(b'{"text": "fault"}', b'{"text": NaN}', b"[" * 5000, bytes([255, 254])),
    ]
)


@settings(max_examples=150)
@given(st.sampled_from(["GET", "POST", "PUT"]), PATHS, QUERIES, HEADERS, BODIES)
def test_every_call_is_answered_as_fastapi_answers_it(
    method: str, path: str, query: str, headers: Any, body: bytes
) -> None:
    call = (method, path, query, headers, body)
    assert called(LANE, *call) == called(APP, *call) == called(LANE, *call, whole=True)


def test_a_thing_that_two_need_is_made_once_and_not_at_all_for_a_call_that_is_not_in_order() -> (
    None
):
    made.clear()
    assert called(LANE, "GET", "/things/x", "", [], b"")[0] == 200
    assert made == ["x"]
    assert called(LANE, "GET", "/things/x", "after=-1", [], b"")[0] == 422
    assert made == ["x", "x"]  # FastAPI's; the lane had read that it was not in order


def test_what_is_the_same_for_every_call_need_not_be_made() -> None:
    known = FastPath(APP, RouteRules(routes_of([router])), HANDLERS, known={door: "the door"})
    assert b"x of the door" in called(known, "GET", "/things/x", "", [], b"")[2]


def test_an_answer_that_cannot_change_is_written_once_and_another_each_time() -> None:
    written, told = JsonAnswers(TypeAdapter(Any)), (1, 2)
    assert written(told) == b"[1,2]"
    assert written(told) is written(told)
    growing = [1]
    assert written(growing) == b"[1]"
    growing.append(2)
    assert written(growing) == b"[1,2]"
    for number in range(100):
        assert written((number,)) == b"[%d]" % number


@pytest.mark.parametrize("route", routes_of(ROUTERS), ids=lambda route: route.path)
def test_the_endpoints_have_a_short_way_but_for_those_that_work_in_a_thread(route: Any) -> None:
    if isinstance(route, APIRoute):
        assert (plan_of(route) is None) == (route.path in ONLY_FASTAPI)
