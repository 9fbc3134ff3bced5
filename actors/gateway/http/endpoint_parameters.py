"""What an endpoint needs of a call, worked out once from its signature.

A plan reads parameters and the body, has what they need made (`Depends`), each thing once, and
carries the endpoint out. It knows what our endpoints use: parameters of path, query and header, one
body that is a model, the connection itself, and functions that are awaited. An endpoint that uses
anything else has no plan. FastAPI reads the same signatures, for the document and for such calls.
"""

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from fastapi.params import Depends, Header, Query
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from starlette.requests import HTTPConnection, Request

from actors.gateway.auth.headers import PAIRS, header, pairs_of
from actors.gateway.http.exchange import Receive, Scope

JSON_TYPE = "application/json"
NOTHING: Mapping[Any, Any] = MappingProxyType({})
MOST_WRITTEN = 16
MOST_BYTES = 1 << 16

Read = Callable[["IncomingCall"], Any]
Makes = Callable[..., Awaitable[Any]]


class InvalidCall(Exception):
    """This call is not what the endpoint wants; nothing was done, and FastAPI can say why."""


class _NoPlan(Exception):
    """The endpoint uses what a plan does not know."""


@dataclass(slots=True)
class IncomingCall:
    """A call as it came: its head, the values of its path, its body once that was read."""

    scope: Scope
    receive: Receive
    path: Mapping[str, str]
    body: bytes = b""
    _query: dict[str, list[str]] | None = None
    _connection: Request | None = None

    @property
    def query(self) -> dict[str, list[str]]:
        """The query's values by name."""
        if self._query is None:
            self._query = {}
            pairs = self.scope.get(PAIRS)
            for name, value in pairs_of(self.scope["query_string"]) if pairs is None else pairs:
                self._query.setdefault(name, []).append(value)
        return self._query

    @property
    def connection(self) -> Request:
        """The call as the framework shows it."""
        if self._connection is None:
            self._connection = Request(self.scope, self.receive)
        return self._connection


class JsonAnswers:
    """Answers as JSON; the latest that cannot change are known again, and not written again."""

    def __init__(self, adapter: TypeAdapter[Any]) -> None:
        """Write what fits `adapter`."""
        self._adapter = adapter
        self._latest: dict[int, tuple[Any, bytes]] = {}

    def __call__(self, answer: Any) -> bytes:
        """Return an answer's bytes."""
        known = self._latest.get(id(answer))
        if known is not None and known[0] is answer:
            return known[1]
        body = self._adapter.dump_json(answer, by_alias=True)
        if len(body) <= MOST_BYTES and isinstance(answer, BaseModel | tuple):
            self._latest[id(answer)] = (answer, body)  # held, so that its id is no other's
            if len(self._latest) > MOST_WRITTEN:
                del self._latest[next(iter(self._latest))]
        return body


@dataclass(frozen=True, slots=True)
class _Made:
    """The value that a function makes of other values, by their places."""

    function: Makes
    takes: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class EndpointPlan:
    """How one endpoint is carried out; `reads_body` says whether it wants the body.

    `known` holds what functions make that make the same for every call.
    """

    status: int
    dump: Callable[[Any], bytes]
    reads_body: bool = False
    known: Mapping[Makes, Any] = field(default_factory=dict)
    _start: list[Any] = field(default_factory=list)
    _reads: list[tuple[int, Read]] = field(default_factory=list)
    _made: list[tuple[int, _Made]] = field(default_factory=list)
    _places: dict[object, int] = field(default_factory=dict)
    _endpoint: _Made | None = None

    async def carry_out(self, arrived: IncomingCall) -> Any:
        """Return what the endpoint returns; raises what it raises, InvalidCall before anything is
        done.

        Everything is read before anything is made, so that a call is not carried out in part.
        """
        values = self._start.copy()
        try:
            for place, read in self._reads:
                values[place] = read(arrived)
        except (ValidationError, LookupError, ValueError, RecursionError) as error:
            raise InvalidCall from error
        for place, made in self._made:
            values[place] = await made.function(**{name: values[at] for name, at in made.takes})
        assert self._endpoint is not None
        end = self._endpoint
        return await end.function(**{name: values[at] for name, at in end.takes})

    # --- learning a signature ---

    def learn(self, endpoint: Callable[..., Any], in_path: Iterable[str]) -> None:
        """Take in an endpoint and all that it depends on. Raises _NoPlan."""
        self._endpoint = self._made_by(endpoint, frozenset(in_path))
        self._start = [self.known.get(what) for what in self._places]  # type: ignore[call-overload]

    def _made_by(self, function: Callable[..., Any], in_path: frozenset[str]) -> _Made:
        if not inspect.iscoroutinefunction(function):
            raise _NoPlan
        hints = get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters.values()
        takes = ((one.name, self._place_of(one, hints[one.name], in_path)) for one in parameters)
        return _Made(function, tuple(takes))

    def _place_of(self, parameter: inspect.Parameter, hint: Any, in_path: frozenset[str]) -> int:
        kind, about = _apart(hint)
        depends = [one for one in about if isinstance(one, Depends)]
        if depends:
            return self._place_made(depends[0], in_path)
        if kind in (HTTPConnection, Request):
            return self._place_read(kind, lambda arrived: arrived.connection)
        if parameter.name in in_path:
            return self._place_read(("path", parameter.name), _of_path(parameter.name, hint))
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return self._place_body(parameter, hint, about)
        headers = [one for one in about if isinstance(one, Header)]
        alias, default = _alias(parameter, about), _default(parameter, about)
        read = (_of_header if headers else _of_query)(alias, hint, kind, default)
        return self._place_read((bool(headers), alias, repr(hint), default), read)

    def _place_made(self, depends: Depends, in_path: frozenset[str]) -> int:
        function = depends.dependency
        if function is None or not depends.use_cache:
            raise _NoPlan
        if function in self.known and function not in self._places:
            self._places[function] = len(self._places)
        elif function not in self._places:
            made = self._made_by(function, in_path)
            self._places[function] = place = len(self._places)
            self._made.append((place, made))
        return self._places[function]

    def _place_body(self, parameter: inspect.Parameter, hint: Any, about: tuple[Any, ...]) -> int:
        if self.reads_body or about or parameter.default is not parameter.empty:
            raise _NoPlan
        self.reads_body = True
        return self._place_read(("body", parameter.name), _of_body(hint))

    def _place_read(self, what: object, read: Read) -> int:
        if what not in self._places:
            self._places[what] = place = len(self._places)
            self._reads.append((place, read))
        return self._places[what]


def plan_of(route: APIRoute, known: Mapping[Makes, Any] = NOTHING) -> EndpointPlan | None:
    """Return how an endpoint is carried out, None if only FastAPI knows."""
    if route.dependencies or (route.response_model is None and not _returns_response(route)):
        return None
    adapter: TypeAdapter[Any] = TypeAdapter(route.response_model or Any)
    plan = EndpointPlan(route.status_code or 200, JsonAnswers(adapter), known=known)
    try:
        plan.learn(route.endpoint, route.param_convertors)
    except _NoPlan:
        return None
    return plan


def _returns_response(route: APIRoute) -> bool:
    """Whether the endpoint makes its whole answer itself."""
    returned = get_type_hints(route.endpoint).get("return")
    return isinstance(returned, type) and hasattr(returned, "media_type")


def _apart(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type and what it is annotated with."""
    if get_origin(hint) is Annotated:
        kind, *about = get_args(hint)
        return kind, tuple(about)
    return hint, ()


def _alias(parameter: inspect.Parameter, about: tuple[Any, ...]) -> str:
    fields = [one for one in about if isinstance(one, FieldInfo)]
    if any(not isinstance(one, Query | Header) for one in fields) or len(fields) > 1:
        raise _NoPlan
    alias = fields[0].alias if fields else None
    if alias is not None:
        return alias
    is_header = bool(fields) and isinstance(fields[0], Header)
    return parameter.name.replace("_", "-") if is_header else parameter.name


def _default(parameter: inspect.Parameter, about: tuple[Any, ...]) -> Any:
    """Return what stands for a value that did not come; `Parameter.empty`: it has to."""
    is_elsewhere = any(isinstance(one, FieldInfo) and not one.is_required() for one in about)
    if is_elsewhere or not isinstance(parameter.default, str | int | float | None | type):
        raise _NoPlan
    return parameter.default


def _of_path(name: str, hint: Any) -> Read:
    if hint is str:
        return lambda arrived: arrived.path[name]
    check = TypeAdapter(hint).validate_python
    return lambda arrived: check(arrived.path[name])


def _of_query(name: str, hint: Any, kind: Any, default: Any) -> Read:
    is_many = any(get_origin(part) in (list, tuple, set) for part in (kind, *get_args(kind)))
    check = TypeAdapter(hint).validate_python

    def read(arrived: IncomingCall) -> Any:
        given = arrived.query.get(name)
        if given is None:
            return _or_unfit(default)
        return check(given if is_many else given[-1])

    return read


def _of_header(name: str, hint: Any, _kind: Any, default: Any) -> Read:
    check, wanted = TypeAdapter(hint).validate_python, name.lower().encode("latin-1")

    def read(arrived: IncomingCall) -> Any:
        for key, value in arrived.scope["headers"]:
            if key == wanted:
                return check(value.decode("latin-1"))
        return _or_unfit(default)

    return read


def _of_body(hint: Any) -> Read:
    check = TypeAdapter(hint).validate_python

    def read(arrived: IncomingCall) -> Any:
        media_type = header(arrived.scope["headers"], b"content-type").partition(";")[0]
        if media_type.strip().lower() != JSON_TYPE:
            raise InvalidCall
        return check(json.loads(arrived.body), from_attributes=True)

    return read


def _or_unfit(default: Any) -> Any:
    if default is inspect.Parameter.empty:
        raise InvalidCall
    return default
