"""ApiCall, one call of the HTTP API as a value; one declaration serves both clients.

A group of calls is a class of declarations without bodies:

    class AgentCalls:
        @call("GET /agents/{agent}")
        def agent(self, agent: str) -> AgentView: ...

Arguments that the path names become its segments (`{path:path}`: several), `key` is the call's
Idempotency-Key, the others are the query, or the fields of the `body`; an argument that is a
request is the body itself. The return type is the shape of the response.

`Client` inherits the groups and gets `client.agent(name) -> AgentView`; `AsyncClient` inherits the
same groups and gets a coroutine. Names, arguments and types are declared once.
"""

import functools
import inspect
import re
import secrets
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
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
"""The time limit of calls that start or stop processes."""

KEYED = ("POST", "DELETE")
"""Methods that have a second effect if they are sent twice."""

FIELD = re.compile(r"\{(\w+)(:path)?\}")
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ApiCall(Generic[Answer]):
    """A request to the gateway, and the reader of its response.

    `key` is its Idempotency-Key: the gateway carries the request out once, however often it is
    sent. None for requests that change nothing, or that are idempotent by themselves. `content` is
    sent instead of a body.
    """

    method: str
    path: str
    read: "Callable[[httpx.Response], Answer]"
    query: Mapping[str, QueryValue] = field(default_factory=dict)
    body: ApiRequest | None = None
    timeout_seconds: float | None = None
    key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None


class SyncCaller:
    """Makes calls and waits for their answers."""

    def make(self, call: ApiCall[Answer]) -> Answer:
        """Make one call and return its answer. Raises NotReachable, ApiError."""
        raise NotImplementedError


class AsyncCaller:
    """Makes calls in an event loop."""

    async def make(self, call: ApiCall[Answer]) -> Answer:
        """Make one call and return its answer. Raises NotReachable, ApiError."""
        raise NotImplementedError


class ApiMethod(Generic[P, Answer]):
    """A method that describes a call; accessed on a client, it makes the call."""

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
        """Return a function that makes the call through `client`.

        With an AsyncCaller it is a coroutine function. Without a client (accessed on the class) the
        ApiMethod itself is returned.
        """
        if client is None:
            return self
        describe = self._describe.__get__(client)

        @functools.wraps(describe)
        def make(*args: Any, **named: Any) -> Any:
            return client.make(describe(*args, **named))

        return make


def call(
    route: str,
    *,
    body: type[ApiRequest] | None = None,
    seconds: float | None = None,
    is_repeatable: bool = False,
    names: Mapping[str, str] = NOTHING,
    fixed: Mapping[str, str] = NOTHING,
    reads: "Callable[[httpx.Response], Any] | None" = None,
) -> Callable[[Callable[Concatenate[Any, P], Answer]], ApiMethod[P, Answer]]:
    """Declare a call of `route` (`POST /agents/{agent}/send`) with a limit of `seconds`.

    A call that `is_repeatable` does the same when it is sent twice and needs no key; PUT always is.
    `names` maps arguments to other query names, `fixed` is always in the query, `reads` parses a
    response that is not JSON.
    """
    method, _, template = route.partition(" ")

    def declare(declared: Callable[Concatenate[Any, P], Answer]) -> ApiMethod[P, Answer]:
        @functools.wraps(declared)
        def describe(client: Any, /, *args: P.args, **named: P.kwargs) -> ApiCall[Answer]:
            signature = _signature(declared)
            bound = signature.bind(client, *args, **named)
            bound.apply_defaults()
            _, *given_values = bound.arguments.items()
            values = dict(given_values)
            path = FIELD.sub(lambda field: _segments(values.pop(field[1]), field[2]), template)
            key = values.pop("key", None) or new_key()
            found = (value for value in values.values() if isinstance(value, ApiRequest))
            sent = body(**values) if body is not None else next(found, None)
            query = {names.get(name, name): value for name, value in values.items()}
            return ApiCall(
                method,
                path.rstrip("/"),
                reads or reader(signature.return_annotation),
                query={} if sent is not None else given(**query, **fixed),
                body=sent,
                timeout_seconds=seconds,
                key=key if method in KEYED and not is_repeatable else None,
            )

        return ApiMethod(describe)

    return declare


def new_key() -> str:
    """Return an Idempotency-Key for a new call."""
    return secrets.token_hex(16)


def reader(shape: type[Answer]) -> "Callable[[httpx.Response], Answer]":
    """Return a function that parses a response's JSON as the type `shape`."""
    wanted: Any = shape  # the cache needs a hashable argument
    return lambda response: _adapter(wanted).validate_json(response.content)


_signature = functools.cache(inspect.signature)


@functools.cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def given(**values: QueryValue) -> dict[str, QueryValue]:
    """Return `values` without None, empty texts and empty lists, as a query."""
    return {key: value for key, value in values.items() if value not in (None, "", (), [])}


def agent_path(agent: str, *rest: str) -> str:
    """Return the path of an agent's resource; each argument is one segment."""
    return "/".join(["/agents", *(segment(name) for name in (agent, *rest))])


def path_under(folder: str, path: str) -> str:
    """Return the API path of the file `path` below `folder`; each name is quoted as a segment."""
    return "/".join([folder, *(segment(name) for name in path.split("/") if name)])


def _segments(value: str, kind: str) -> str:
    return path_under("", value)[1:] if kind else segment(value)


def segment(name: str) -> str:
    """Return a name quoted as one segment of a URL's path.

    Raises ApiError 404 for '', `.` and `..`.
    """
    if name in ("", ".", ".."):
        raise ApiError(404, f"there is no '{name}'")
    return quote(name, safe="")
