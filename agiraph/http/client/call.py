"""One call of the HTTP API as a value, and how one definition serves both clients.

A group of calls is a class of methods that return an `ApiCall` and send nothing:

    class AgentCalls:
        @ApiMethod
        def agent(self, agent: str) -> ApiCall[AgentView]: ...

`Client` inherits the groups and gets `client.agent(name) -> AgentView`; `AsyncClient` inherits
the same ones and gets a coroutine of it. Names, arguments and types are declared once.
"""

import functools
import secrets
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload
from urllib.parse import quote

from pydantic import TypeAdapter

from agiraph.http.api.base import ApiRequest
from agiraph.http.errors import ApiError

if TYPE_CHECKING:
    import httpx

P = ParamSpec("P")
Answer = TypeVar("Answer")

QueryValue = str | int | float | bool | Sequence[str] | None

LONG_SECONDS = 60.0
"""For what starts or stops processes."""


@dataclass(frozen=True, slots=True)
class ApiCall(Generic[Answer]):
    """A request to the gateway, and how its response is read.

    `key` is its Idempotency-Key: the gateway carries the request out once, however often it is
    sent. None for requests that change nothing, or that are idempotent by themselves.
    """

    method: str
    path: str
    read: "Callable[[httpx.Response], Answer]"
    query: Mapping[str, QueryValue] = field(default_factory=dict)
    body: ApiRequest | None = None
    timeout_seconds: float | None = None
    key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class SyncCaller:
    """Makes calls and waits for their answers."""

    def make(self, call: ApiCall[Answer]) -> Answer:
        """Make one call. Raises NotReachable, ApiError."""
        raise NotImplementedError


class AsyncCaller:
    """Makes calls in an event loop."""

    async def make(self, call: ApiCall[Answer]) -> Answer:
        """Make one call. Raises NotReachable, ApiError."""
        raise NotImplementedError


class ApiMethod(Generic[P, Answer]):
    """A method that describes a call; looked up on a client, it makes the call."""

    def __init__(self, describe: Callable[Concatenate[Any, P], ApiCall[Answer]]) -> None:
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
        """Return a function that makes the call."""
        if client is None:
            return self
        describe = self._describe.__get__(client)

        @functools.wraps(describe)
        def make(*args: Any, **named: Any) -> Any:
            return client.make(describe(*args, **named))

        return make


def get(path: str, shape: type[Answer], **query: QueryValue) -> ApiCall[Answer]:
    """Return a GET request; values of the query that are empty are left out."""
    return ApiCall("GET", path, reader(shape), given(**query))


def post(
    path: str,
    shape: type[Answer],
    body: ApiRequest | None = None,
    *,
    timeout_seconds: float | None = None,
    key: str | None = None,
    method: str = "POST",
) -> ApiCall[Answer]:
    """Return a request that changes something; without a key it gets a new one."""
    return ApiCall(
        method,
        path,
        reader(shape),
        body=body,
        timeout_seconds=timeout_seconds,
        key=key or secrets.token_hex(16),
    )


def delete(
    path: str, shape: type[Answer], *, timeout_seconds: float | None = None
) -> ApiCall[Answer]:
    """Return a DELETE request."""
    return post(path, shape, timeout_seconds=timeout_seconds, method="DELETE")


def repeatable(method: str, path: str, shape: type[Answer], body: ApiRequest) -> ApiCall[Answer]:
    """Return a request with a body that does the same when it is sent twice, and needs no key."""
    return ApiCall(method, path, reader(shape), body=body)


def reader(shape: type[Answer]) -> "Callable[[httpx.Response], Answer]":
    """Return a function that reads a JSON response of this shape."""
    return lambda response: TypeAdapter(shape).validate_json(response.content)


def given(**values: QueryValue) -> dict[str, QueryValue]:
    """Return the query values that are not empty."""
    return {key: value for key, value in values.items() if value not in (None, "", (), [])}


def agent_path(agent: str, *rest: str) -> str:
    """Return the path of a resource of an agent; each argument is one segment of it."""
    return "/".join(["/agents", *(segment(name) for name in (agent, *rest))])


def segments(path: str) -> list[str]:
    """Return the segments of a path with `/` between them, each quoted for a URL."""
    return [segment(name) for name in path.split("/") if name]


def segment(name: str) -> str:
    """Return a name as one segment of a URL's path; `.` and `..` would lead to another route."""
    if name in ("", ".", ".."):
        raise ApiError(404, f"there is no '{name}'")
    return quote(name, safe="")
