"""One call of the HTTP API as a value, and how one definition serves both clients.

A family of calls is a class of methods that return a `ApiCall` and ask nobody:

    class AgentCalls:
        @Verb
        def agent(self, agent: str) -> Call[AgentSummary]: ...

`Client` inherits the families and gets `client.agent(name) -> AgentView`; `AsyncClient` inherits
the same ones and gets a coroutine of it. Names, arguments and types stand in one place.
"""

import functools
import secrets
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload
from urllib.parse import quote

from pydantic import TypeAdapter

from agiraph.http.api.base import ApiRequest
from agiraph.http.api.errors import ApiError

P = ParamSpec("P")
Answer = TypeVar("Answer")

Value = str | int | float | Sequence[str]
Query = Mapping[str, Value]

LONG_SECONDS = 60.0
"""For what starts or stops processes."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What came back: the names of the headers are in small letters."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class ApiCall(Generic[Answer]):
    """What to ask of the gateway, and how to read its answer.

    `key` is its Idempotency-Key: the gateway does what it asks for once, however often it is made.
    None for what only asks.
    """

    method: str
    path: str
    read: Callable[[HttpReply], Answer]
    query: Query | None = None
    content: bytes | None = None
    timeout_seconds: float | None = None
    key: str | None = None
    headers: Mapping[str, str] | None = None


class SyncCaller:
    """Whoever makes calls and waits for their answers."""

    def make(self, call: ApiCall[Answer]) -> Answer:
        """Make one call. Raises NotReachable, ApiError."""
        raise NotImplementedError


class AsyncCaller:
    """Whoever makes calls in an event loop."""

    async def make(self, call: ApiCall[Answer]) -> Answer:
        """Make one call. Raises NotReachable, ApiError."""
        raise NotImplementedError


class ApiMethod(Generic[P, Answer]):
    """A method that describes a call; looked up on a client, it makes it."""

    def __init__(self, describe: Callable[Concatenate[Any, P], ApiCall[Answer]]) -> None:
        """Wrap a method of a family of calls."""
        self._describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: SyncCaller, owner: type) -> Callable[P, Answer]: ...
    @overload
    def __get__(
        self, client: AsyncCaller, owner: type
    ) -> Callable[P, Coroutine[Any, Any, Answer]]: ...
    def __get__(self, client: SyncCaller | AsyncCaller | None, owner: type) -> Any:
        """Return what makes the call."""
        if client is None:
            return self
        describe = self._describe.__get__(client)

        @functools.wraps(describe)
        def make(*args: Any, **named: Any) -> Any:
            return client.make(describe(*args, **named))

        return make


def get(path: str, shape: type[Answer], query: Query | None = None) -> ApiCall[Answer]:
    """Return a call that only asks."""
    return ApiCall("GET", path, reader(shape), query=query)


def post(
    path: str,
    body: ApiRequest | None,
    shape: type[Answer],
    *,
    timeout_seconds: float | None = None,
    key: str | None = None,
    method: str = "POST",
) -> ApiCall[Answer]:
    """Return a call that makes, sends or changes something; without a key it gets a new one."""
    return ApiCall(
        method,
        path,
        reader(shape),
        content=body.model_dump_json(exclude_none=True).encode() if body else None,
        timeout_seconds=timeout_seconds,
        key=key or new_key(),
    )


def search(path: str, body: ApiRequest, shape: type[Answer]) -> ApiCall[Answer]:
    """Return a call that only asks, with more than a URL can hold."""
    content = body.model_dump_json(exclude_none=True).encode()
    return ApiCall("POST", path, reader(shape), content=content)


def delete(
    path: str, shape: type[Answer], *, timeout_seconds: float | None = None
) -> ApiCall[Answer]:
    """Return a call that takes something away."""
    return post(path, None, shape, timeout_seconds=timeout_seconds, method="DELETE")


def new_key() -> str:
    """Return an Idempotency-Key that nobody used before."""
    return secrets.token_hex(16)


def reader(shape: type[Answer]) -> Callable[[HttpReply], Answer]:
    """Return what reads a JSON answer of this shape."""
    return lambda reply: TypeAdapter(shape).validate_json(reply.content)


def of_agent(agent: str, *rest: str) -> str:
    """Return the path of something of an agent; each argument is one part of it."""
    return "/".join(["/agents", *(part(name) for name in (agent, *rest))])


def parts(path: str) -> list[str]:
    """Return the parts of a path that a person wrote, each fit for a URL."""
    return [part(name) for name in path.split("/") if name]


def part(name: str) -> str:
    """Return a name as one part of a URL's path; `.` and `..` would lead to another route."""
    if name in ("", ".", ".."):
        raise ApiError(404, f"there is no '{name}'")
    return quote(name, safe="")


def named(**values: Value | None) -> dict[str, Value]:
    """Return a query of those values that were given."""
    return {key: value for key, value in values.items() if value not in (None, "", (), [])}
