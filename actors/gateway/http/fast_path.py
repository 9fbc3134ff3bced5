"""The short way to an endpoint, for calls that are in order.

Almost every call is: it is read, carried out and answered by the endpoint's plan (`needs.py`),
which costs a fifth of FastAPI's way through routers, exit stacks and middleware. Whatever is not as
the endpoint wants it goes FastAPI's way from the beginning, before anything was done, so that there
is one place where a refusal is worded.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from actors.gateway.auth.scopes import RouteRule, RouteRules
from actors.gateway.http.endpoint_parameters import (
    NOTHING,
    EndpointPlan,
    IncomingCall,
    InvalidCall,
    Makes,
    plan_of,
)
from actors.gateway.http.exchange import WHOLE, App, Message, Receive, Scope, Send

Handler = Callable[[Any, Exception], Awaitable[Response | None]]


class FastPath:
    """Stands before FastAPI's application."""

    def __init__(
        self,
        app: App,
        rules: RouteRules,
        handlers: Mapping[type[Exception], Handler],
        known: Mapping[Makes, Any] = NOTHING,
    ) -> None:
        """Stand before `app`, whose routes are in `rules`; errors are answered by `handlers`.

        `known` holds what those functions make of any call on which endpoints depend.
        """
        self._app = app
        self._rules = rules
        self._handlers = handlers
        self._known = known
        self._plans: dict[tuple[str, str], EndpointPlan | None] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one call."""
        found = None
        if scope["type"] == "http":
            found = self._rules.find(scope["method"], scope["path"])
        plan = self._plan_of(found.rule) if found is not None else None
        if found is None or plan is None:
            await self._app(scope, receive, send)
            return
        scope["app"] = self._app
        came: list[Message] = []
        try:
            arrived = IncomingCall(scope, receive, found.values)
            if plan.reads_body:
                arrived.body = await _whole_body(receive, came)
            answer = await plan.carry_out(arrived)
        except InvalidCall:
            await self._app(scope, _again(came, receive), send)
            return
        except Exception as error:
            await self._refuse(scope, receive, send, error)
            return
        if isinstance(answer, Response):
            await answer(scope, receive, send)
        elif WHOLE in scope:
            body = plan.dump(answer)
            await send({"type": WHOLE, "status": plan.status, "body": body})
        else:
            await _say(send, plan.status, plan.dump(answer))

    def _plan_of(self, rule: RouteRule) -> EndpointPlan | None:
        key = rule.method, rule.template
        if key not in self._plans:
            route = rule.route
            self._plans[key] = plan_of(route, self._known) if isinstance(route, APIRoute) else None
        return self._plans[key]

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, error: Exception) -> None:
        """Answer an error as FastAPI would; a fault is raised on, to be logged."""
        kinds = type(error).__mro__
        handler = next(self._handlers[kind] for kind in kinds if kind in self._handlers)
        answer = await handler(Request(scope), error)
        assert answer is not None
        await answer(scope, receive, send)
        if handler is self._handlers[Exception]:
            raise error


async def _whole_body(receive: Receive, came: list[Message]) -> bytes:
    """Return the body; what came of it stands in `came`. Raises InvalidCall if the
    caller has gone."""
    parts = []
    while True:
        message = await receive()
        came.append(message)
        if message["type"] != "http.request":
            raise InvalidCall
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _again(came: list[Message], receive: Receive) -> Receive:
    """Return a `receive` that begins with what came already."""
    left = iter(came)

    async def from_the_beginning() -> Message:
        for message in left:
            return message
        return await receive()

    return from_the_beginning


async def _say(send: Send, status: int, body: bytes) -> None:
    headers = [
        (b"content-length", str(len(body)).encode()),
        (b"content-type", b"application/json"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
