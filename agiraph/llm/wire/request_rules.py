"""RequestRules: the parts of an external agent's request that reach a model service. Pure.

Budgets are enforced by the highest possible cost of a call, so a request may contain nothing that
costs more than its input and one answer of limited length. Each format has a list of forwarded
parameters. Every other parameter is refused by its name: it may multiply the answer (`n`), produce
it where its usage is not visible (`background`), or change its price (`service_tier`). Tools that
the service runs, and objects stored at the service, are refused for the same reason.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, ClassVar, Final

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject
from agiraph.llm.token_counts import Attachment
from agiraph.llm.wire.request_walk import (
    STORED_NAMES,
    Places,
    media_of_file,
    media_of_url,
    plain,
    shown,
)

Values = Mapping[str, tuple[Any, ...]]
"""The possible values of parameters."""
ItemFields = Mapping[str, frozenset[str]]
"""The allowed fields of an item, block or part, by its type."""
Shapes = Mapping[str, tuple[str, ...]]
"""For each parameter the shapes that its value may have; () for any."""
DATE: Final = re.compile(r"(_preview)?(_\d{8}|_\d{4}_\d{2}_\d{2})?$")
"""The end of the type of a service's tool, which names a version."""
MOST_TOKENS: Final = 1_000_000_000
"""The largest accepted limit of an answer."""
ONLY_STANDARD: Final = ("auto", "default", "flex")
"""OpenAI's service tiers that cost no more than the price of the model."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list_of(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(one, kind) for one in value)


SHAPES: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "text": ("text", lambda value: isinstance(value, str)),
    "number": ("a number", _is_number),
    "flag": ("true or false", lambda value: isinstance(value, bool)),
    "object": ("an object", lambda value: isinstance(value, dict)),
    "objects": ("a list of objects", _is_list_of(dict)),
    "texts": ("a list of texts", _is_list_of(str)),
}
"""The shapes of values, in words and as a test."""
LIMIT: Final = ("limit",)
"""The shape of a number of tokens."""


def shapes(**names: str) -> Shapes:
    """Return the shapes by parameter, from the names of the parameters of each shape."""
    found: dict[str, tuple[str, ...]] = {}
    for shape, listed in names.items():
        for name in listed.split():
            found[name] = (*found.get(name, ()), shape)
    return found


class RequestRules(ABC):
    """The rules for requests of one wire format.

    `parameters` are forwarded unchanged, in one of their shapes, parameters of `values` only with
    one of these values. `fields_of` are the fields of parameters that are objects. `own_choices`
    are the types of a `tool_choice` that start no tool of the service. `left_out` are parameters
    without which the meaning of the request is nearly the same. `limits` are the names of the
    answer's limit, which ours replaces.
    """

    places: ClassVar[Places]
    """The places of objects and lists in the format."""
    parameters: ClassVar[Shapes]
    values: ClassVar[Values]
    fields_of: ClassVar[ItemFields] = {}
    own_choices: ClassVar[frozenset[str]] = frozenset()
    left_out: ClassVar[frozenset[str]] = frozenset()
    limits: ClassVar[tuple[str, ...]]
    stored: ClassVar[tuple[str, ...]] = ()
    """Parameters that name an object stored at the service."""

    def checked(self, body: JsonObject, service_tools: Collection[str] = ()) -> JsonObject:
        """Return the part of a request that may be sent.

        Raises InvalidInput, which names the refused part. `service_tools` are the tools of the
        service that the settings allow.
        """
        given = {name: value for name, value in body.items() if value is not None}
        known = {**self.parameters, **dict.fromkeys(self.left_out, ())}
        check_fields(given, known, self.values, self.limits, self.stored)
        for name, fields in self.fields_of.items():
            value = given.get(name)
            for one in objects_in(value) if isinstance(value, list) else objects_in([value]):
                check_names(one, fields, name)
        self._check_choice(given.get("tool_choice"), service_tools)
        self.check_content(given)
        for _ in self.attachments(given):
            pass
        self.places.check(self.without_service_tools(given))
        kept = {name: value for name, value in given.items() if name not in self.left_out}
        sent = self._with_allowed_tools(kept, service_tools)
        self._check_chosen(sent)
        return sent

    def limit(self, body: JsonObject) -> int | None:
        """Return the limit of the answer in a request, None if it has none.

        Raises InvalidInput. Of several limits the lowest counts.
        """
        given = [body[name] for name in self.limits if body.get(name) is not None]
        for name in self.limits:
            check_limit(name, body.get(name))
        return min(given, default=None)

    def may_shorten(self, body: JsonObject) -> bool:
        """Whether the service may omit parts of the conversation before the model reads it."""
        return False

    @abstractmethod
    def check_content(self, body: JsonObject) -> None:
        """Raise InvalidInput for expensive content inside a forwarded parameter."""

    @abstractmethod
    def attachments(self, body: JsonObject) -> Iterator[Attachment]:
        """Yield the pictures and documents of a request. Raises InvalidInput for a refused one."""

    # --- tools -----------------------------------------------------------------------------------

    def tools(self, body: JsonObject) -> list[Any]:
        """Return the tools of a request. Raises InvalidInput if they are not a list."""
        tools = body.get("tools") or []
        if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
            raise InvalidInput("tools: expected a list of objects")
        return tools

    @abstractmethod
    def service_tools(self, tool: Any) -> tuple[str, ...]:
        """Return the names of the tools of the service in an entry of `tools`, () if none."""

    def allowed_tool(self, tool: Any, allowed: Collection[str]) -> Any | None:
        """Return the part of an entry of `tools` that may be sent, None if there is none."""
        return tool if set(self.service_tools(tool)) <= set(allowed) else None

    def without_service_tools(self, body: JsonObject) -> JsonObject:
        """Return a request without the tools of the service, whose fields differ."""
        kept = [
            own for tool in self.tools(body) if (own := self.allowed_tool(tool, ())) is not None
        ]
        return body | {"tools": kept}

    def all_service_tools(self, body: JsonObject) -> set[str]:
        """Return the names of all tools of the service in a request."""
        return {name for tool in self.tools(body) for name in self.service_tools(tool)}

    def why_native_only(self, body: JsonObject) -> str:
        """Return why only a service of this format can answer a request, "" if any service can."""
        tools = self.tools(body)
        names = self._names(tools)
        if not tools or any(not self.service_tools(tool) for tool in tools):
            return ""
        return f"{names}: only the service itself runs this tool, and another one answers here"

    def _check_choice(self, choice: Any, allowed: Collection[str]) -> None:
        """Raise InvalidInput for a choice that starts a tool of the service."""
        if not isinstance(choice, dict) or not self.own_choices:
            return
        nested = choice.get("allowed_tools")
        inner = nested.get("tools") if isinstance(nested, dict) else choice.get("tools")
        for one in (choice, *objects_in(inner)):
            kind = DATE.sub("", str(one.get("type", "function")))
            if kind not in self.own_choices and kind not in allowed:
                possible = ", ".join(sorted({*self.own_choices, *allowed}))
                raise InvalidInput(
                    f"tool_choice.type: {shown(one.get('type'))} starts a tool of the service, at a"
                    f" cost that no budget sees (possible: {possible})"
                )

    def chosen(self, body: JsonObject) -> Iterator[Any]:
        """Yield the names of the tools that a request lets the model choose from, or call."""
        yield from _names_in(body.get("tool_choice"))

    def own_tools(self, body: JsonObject) -> list[Any]:
        """Return all tools that a request declares, in any of its fields."""
        return [*self.tools(body), *objects_in(body.get("functions"))]

    def _check_chosen(self, sent: JsonObject) -> None:
        """Raise InvalidInput if `tool_choice` names a tool that the request does not declare.

        Such a tool may be one that the service itself runs.
        """
        known = set(_names_in(self.own_tools(sent)))
        for name in self.chosen(sent):
            if name not in known:
                raise InvalidInput(
                    f"tool_choice: {shown(name)} is none of the tools that are forwarded "
                    f"(possible: {', '.join(sorted(known)) or 'none'})"
                )

    def _with_allowed_tools(self, body: JsonObject, allowed: Collection[str]) -> JsonObject:
        tools = self.tools(body)
        kept = [one for tool in tools if (one := self.allowed_tool(tool, allowed)) is not None]
        if tools and not kept:
            raise InvalidInput(
                f"{self._names(tools)}: the service itself runs this tool, at a cost that no budget"
                f" sees (door.service_tools allows: {', '.join(allowed) or 'none'})"
            )
        return body if kept == tools else body | {"tools": kept}

    def _names(self, tools: list[Any]) -> str:
        return ", ".join(sorted({name for tool in tools for name in self.service_tools(tool)}))


# --- checks --------------------------------------------------------------------------------------


def check_fields(
    given: JsonObject,
    known: Shapes,
    values: Values,
    limits: Collection[str] = (),
    stored: Collection[str] = (),
    where: str = "",
) -> None:
    """Raise InvalidInput for the first field of `given` that is not forwarded with its value.

    `known` are the forwarded fields with their shapes, `values` the possible values of some fields,
    `limits` and `stored` as in RequestRules. `where` begins the name in the error.
    """
    for name, value in given.items():
        if name in limits:
            check_limit(f"{where}{name}", value)
        elif name in stored:
            raise InvalidInput(
                f"{where}{name}: nothing is stored at the service; send the whole conversation"
            )
        elif name in values:
            if not any(type(value) is type(one) and value == one for one in values[name]):
                possible = ", ".join(map(shown, values[name]))
                raise InvalidInput(
                    f"{where}{name}: {shown(value)} is not forwarded (possible: {possible})"
                )
        elif name not in known:
            possible = ", ".join(sorted({*known, *values, *limits}))
            raise InvalidInput(
                f"{where}{name}: this parameter is not forwarded, since it may cost more than is "
                f"reserved for the answer (forwarded: {possible})"
            )
        else:
            _check_shape(f"{where}{name}", value, known[name])


def _check_shape(name: str, value: Any, possible: tuple[str, ...]) -> None:
    if possible == LIMIT:
        check_limit(name, value)
    elif possible and not any(SHAPES[shape][1](value) for shape in possible):
        expected = " or ".join(SHAPES[shape][0] for shape in possible)
        raise InvalidInput(f"{name}: expected {expected}, not {shown(value)}")


def check_limit(name: str, value: Any) -> None:
    """Raise InvalidInput for a limit that is not a number of tokens; None means no limit."""
    if value is not None and (type(value) is not int or not 1 <= value <= MOST_TOKENS):
        raise InvalidInput(
            f"{name}: {shown(value)} is no limit "
            f"(possible: a whole number of tokens from 1 to {MOST_TOKENS:,})"
        )


def item_fields(**fields: str) -> ItemFields:
    """Return the table of a format: for each type of item the fields that are forwarded."""
    return {kind: frozenset(("type", *names.split())) for kind, names in fields.items()}


def check_item(item: Any, fields: ItemFields, where: str, usual: str | None = None) -> str:
    """Return the type of an item.

    Raises InvalidInput for a type or a field that is not in the table. An item without a type has
    the `usual` type, and is refused if that is None.
    """
    if not isinstance(item, dict):
        raise InvalidInput(f"{where}: expected an object, not {shown(item)}")
    kind = usual if item.get("type") is None else item["type"]
    if not isinstance(kind, str) or kind not in fields:
        raise InvalidInput(
            f"{where}.type: {shown(kind)} is not forwarded (possible: {', '.join(sorted(fields))})"
        )
    check_names(item, fields[kind], kind)
    return kind


def check_names(item: JsonObject, known: Collection[str], where: str) -> None:
    """Raise InvalidInput for the first field of an item that is not forwarded."""
    for name, value in item.items():
        if value is None or name in known:
            continue
        if plain(name) in STORED_NAMES:
            raise stored_object(f"{where}.{name}")
        raise InvalidInput(
            f"{where}.{name}: this field is not forwarded, since it may cost more than is reserved"
            f" for the request (forwarded: {', '.join(sorted(known))})"
        )


def stored_object(name: str) -> InvalidInput:
    """Return the error for a reference to an object that is stored at the service."""
    return InvalidInput(f"{name}: an object stored at the service has no size that a budget sees")


# --- content -------------------------------------------------------------------------------------

MARKS: Final = ("cache_control", "prompt_cache_breakpoint")
BLOCK_FIELDS: Final = ("content", "output", "source", "tool", "definition")
"""The fields of a message or block that contain further blocks or tools."""
DEEPEST_BLOCK: Final = 20
"""More levels of blocks than a service accepts."""


def with_short_marks(value: Any, depth: int = DEEPEST_BLOCK) -> Any:
    """Return messages, blocks or tools without lifetimes (`ttl`) in their cache marks.

    A longer lifetime (`ttl`) has another price.
    """
    if isinstance(value, list):
        return [with_short_marks(one, depth) for one in value]
    if not isinstance(value, dict) or not depth:
        return value
    nested = {
        name: with_short_marks(value[name], depth - 1)
        for name in BLOCK_FIELDS
        if isinstance(value.get(name), list | dict)
    }
    nested |= {mark: without_lifetime(value[mark]) for mark in MARKS if mark in value}
    return value | nested if nested else value


def without_lifetime(mark: Any) -> Any:
    """Return a cache mark without its `ttl`, so that it has the usual lifetime."""
    return {key: mark[key] for key in mark if key != "ttl"} if isinstance(mark, dict) else mark


NAMED_IN: Final = (
    "tools", "function", "custom", "allowed_tools", "functionDeclarations", "function_declarations",
)  # fmt: skip
"""The fields of a tool or a choice that contain named tools."""


def _names_in(value: Any) -> Iterator[str]:
    """Yield the names of all tools in a list of tools, in items, or in a `tool_choice`."""
    waiting = [value]
    while waiting:
        given = waiting.pop()
        if isinstance(given, list):
            waiting += given
        elif isinstance(given, dict):
            if isinstance(name := given.get("name"), str):
                yield name
            waiting += (given[field] for field in NAMED_IN if field in given)


def objects_in(value: Any) -> list[JsonObject]:
    """Return the JSON objects of a list, none for other values."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def from_url(url: Any, *, is_picture: bool) -> Attachment:
    """Return the attachment at a URL: in the request itself (`data:`), or elsewhere.

    A `data:` URL in a picture's place is a picture only by its media type, otherwise a document. An
    address does not show the size of its content, not even of a picture: it counts as the whole
    window. So does a video, which may have more tokens than bytes.
    """
    kind = media_of_url(url, "url")
    return _attached(url, kind, is_picture=is_picture)


def from_file(data: Any) -> Attachment:
    """Return a file in a request; some services (OpenRouter) fetch it if the data is a URL."""
    return _attached(data, media_of_file(data, "file_data"), is_picture=False)


def from_data(data: Any, kind: str, *, is_picture: bool) -> Attachment:
    """Return an attachment that is in the request with its media type. Raises InvalidInput."""
    if media_of_file(data or "", "data") is not None:
        raise InvalidInput(f"data: {shown(data)} is an address (possible: base64)")
    return _attached(str(data or ""), kind, is_picture=is_picture)


def _attached(data: str, kind: str | None, *, is_picture: bool) -> Attachment:
    if kind == "":
        return Attachment(0, is_picture=False)
    is_video = kind is not None and kind.startswith("video/")
    is_image = kind is not None and kind.startswith("image/")
    return Attachment(0 if is_video else len(data), is_picture=is_picture and is_image)
