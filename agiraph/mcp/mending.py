"""Mending: answers of servers against the protocol, in the form that it requires; pure.

The SDK refuses a whole answer for one odd part: a list of tools for one tool without a schema, a
result for one block of a kind that it does not know, or for text where an output schema was
declared. So each answer passes here first. Only parts that cannot be mended are left out, by name.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agiraph.core.naming import error_line
from agiraph.core.record import Record

JsonObject = dict[str, Any]

HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
OLDEST_PROTOCOL: Final = "2024-11-05"
DATA_KINDS: Final = ("image", "audio")
LONGEST_SHOWN: Final = 60
DEEPEST_ENTRY: Final = 128
"""How many levels an entry of a list may have; the SDK fails for the whole list above 250."""
DEEPEST_VALUE: Final = DEEPEST_ENTRY + 32
TOO_DEEP: Final = "[left out: nested too deeply]"


class LeftOut(Record):
    """A part of a server's answer that is not used, and the reason."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Mended:
    """An answer as the protocol allows it, and the parts left out of it."""

    result: JsonObject
    left_out: tuple[LeftOut, ...] = ()


def mended(method: str, result: object) -> Mended:
    """Return a server's result of the request `method` in the form that the protocol requires."""
    said = dict(result) if isinstance(result, Mapping) else {}
    if not isinstance(said.get("_meta", {}), Mapping):
        del said["_meta"]
    if (mend := MENDERS.get(method)) is not None:
        return mend(said)
    if method in LISTS:
        return _listing(method, said)
    return Mended(said)


# --- the beginning -------------------------------------------------------------------------------


def _initialized(said: JsonObject) -> Mended:
    """Return the mended answer to `initialize`; without capabilities, tools are assumed."""
    about, offers = said.get("serverInfo"), said.get("capabilities")
    named = about if isinstance(about, Mapping) else {}
    said["serverInfo"] = {
        **{key: one for key, one in named.items() if key == "title" and isinstance(one, str)},
        "name": _text(named.get("name")),
        "version": _text(named.get("version")),
    }
    said["capabilities"] = (
        {key: _object(one) for key, one in offers.items() if one not in (None, False)}
        if isinstance(offers, Mapping)
        else {"tools": {}}
    )
    if not isinstance(said.get("protocolVersion"), str):
        said["protocolVersion"] = OLDEST_PROTOCOL
    if not isinstance(said.get("instructions"), str):
        said.pop("instructions", None)
    return Mended(said)


# --- lists ---------------------------------------------------------------------------------------


def _tool(said: Mapping[str, Any]) -> JsonObject:
    """Return a tool with only the fields that are used; no output schema: results are text."""
    schema, hints = said.get("inputSchema"), said.get("annotations")
    tool: JsonObject = {
        "name": said["name"],
        "inputSchema": {**_object(schema), "type": "object"},
    }
    for key in ("title", "description"):
        if isinstance(said.get(key), str):
            tool[key] = said[key]
    if isinstance(hints, Mapping):
        known = {key: hints[key] for key in HINTS if isinstance(hints.get(key), bool)}
        tool["annotations"] = known | (
            {"title": hints["title"]} if isinstance(hints.get("title"), str) else {}
        )
    return tool


def _named(said: Mapping[str, Any]) -> JsonObject:
    """Return a resource or a prompt with its texts."""
    texts = {key: said[key] for key in ("title", "description", "mimeType")
             if isinstance(said.get(key), str)}  # fmt: skip
    return {"name": _text(said.get("name")), **texts}


def _prompt(said: Mapping[str, Any]) -> JsonObject:
    arguments = said.get("arguments")
    known = [
        {**_named(one), "required": one.get("required") is True}
        for one in (arguments if isinstance(arguments, list) else ())
        if isinstance(one, Mapping) and isinstance(one.get("name"), str)
    ]
    return {**_named(said), "arguments": known}


@dataclass(frozen=True, slots=True)
class _ListKind:
    """A list that servers send: the key of its entries, their required fields, their mending."""

    key: str
    what: str
    must: str
    entry: Callable[[Mapping[str, Any]], JsonObject]


LISTS: Final[Mapping[str, _ListKind]] = {
    "tools/list": _ListKind("tools", "tool", "name", _tool),
    "prompts/list": _ListKind("prompts", "prompt", "name", _prompt),
    "resources/list": _ListKind(
        "resources", "resource", "uri", lambda one: {**_named(one), "uri": one["uri"]}
    ),
    "resources/templates/list": _ListKind(
        "resourceTemplates",
        "template",
        "uriTemplate",
        lambda one: {**_named(one), "uriTemplate": one["uriTemplate"]},
    ),
}


def _listing(method: str, said: JsonObject) -> Mended:
    kind, entries, left_out = LISTS[method], list[JsonObject](), list[LeftOut]()
    given = said.get(kind.key)
    for number, one in enumerate(given if isinstance(given, list) else (), start=1):
        if isinstance(one, Mapping) and isinstance(one.get(kind.must), str) and one[kind.must]:
            if is_deeper(one, DEEPEST_ENTRY):
                why = f"it is nested more than {DEEPEST_ENTRY} levels deep"
                left_out.append(LeftOut(name=error_line(one[kind.must]), why=why))
            else:
                entries.append(kind.entry(one))
        else:
            name = f"{kind.what} {number} of its list"
            left_out.append(LeftOut(name=name, why=f"it has no {kind.must}"))
    cursor = said.get("nextCursor")
    result = {**said, kind.key: entries}
    if not (isinstance(cursor, str) and cursor):
        result.pop("nextCursor", None)
    return Mended(result, tuple(left_out))


# --- contents ------------------------------------------------------------------------------------


def _called(said: JsonObject) -> Mended:
    if said.get("resultType") not in (None, "complete"):
        return Mended(said)  # a question of the server, which the SDK answers
    content, structured = said.get("content"), said.get("structuredContent")
    blocks = [_block(one) for one in _several(content)]
    if structured is not None and not isinstance(structured, Mapping):
        blocks += [] if blocks else [_as_text(structured)]
        structured = None
    result = {**said, "content": blocks, "isError": said.get("isError") in (True, "true")}
    if structured is None:
        result.pop("structuredContent", None)
    return Mended(result)


def _resource_read(said: JsonObject) -> Mended:
    contents = [_resource(one) for one in _several(said.get("contents"))]
    return Mended({**said, "contents": contents})


def _prompt_got(said: JsonObject) -> Mended:
    messages = [
        {
            "role": "assistant" if one.get("role") == "assistant" else "user",
            "content": _block(one.get("content")),
        }
        for one in _several(said.get("messages"))
        if isinstance(one, Mapping)
    ]
    if said.get("resultType") not in (None, "complete"):
        return Mended(said)
    result = {**said, "messages": messages}
    if not _is_text(said.get("description")):
        result.pop("description", None)
    return Mended(result)


def _block(said: object) -> JsonObject:
    """Return a block of content; a block of unknown kind becomes a text that names the kind."""
    if not isinstance(said, Mapping):
        return _as_text(said)
    kind = said.get("type")
    if kind == "text" or (kind is None and "text" in said):
        return _as_text(said.get("text"))
    if kind in DATA_KINDS and isinstance(said.get("data"), str):
        return {"type": kind, "data": said["data"], "mimeType": _text(said.get("mimeType"))}
    if kind == "resource" and isinstance(said.get("resource"), Mapping):
        return {"type": kind, "resource": _resource(said["resource"])}
    if kind == "resource_link" and isinstance(said.get("uri"), str):
        return {"type": kind, "uri": said["uri"], **_named(said)}
    return {"type": "text", "text": f"[{_text(kind)[:LONGEST_SHOWN] or 'odd'} content, not shown]"}


def _resource(said: object) -> JsonObject:
    if not isinstance(said, Mapping):
        return {"uri": "", "text": _as_text(said)["text"]}
    about: JsonObject = {"uri": _text(said.get("uri"))}
    if _is_text(said.get("mimeType")):
        about["mimeType"] = said["mimeType"]
    if _is_text(said.get("blob")):
        return about | {"blob": said["blob"]}
    return about | {"text": _as_text(said.get("text"))["text"]}


MENDERS: Final[Mapping[str, Callable[[JsonObject], Mended]]] = {
    "initialize": _initialized,
    "tools/call": _called,
    "resources/read": _resource_read,
    "prompts/get": _prompt_got,
}


# --- depth ---------------------------------------------------------------------------------------


def is_deeper(value: object, most: int) -> bool:
    """Whether a value has more than `most` levels of objects and lists."""
    level = [value]
    for _ in range(most + 1):
        level = [
            inner
            for one in level
            if isinstance(one, Mapping | list)
            for inner in (one.values() if isinstance(one, Mapping) else one)
        ]
        if not level:
            return False
    return any(isinstance(one, Mapping | list) for one in level)


def cut_below(value: Any, most: int = DEEPEST_VALUE) -> Any:
    """Return a JSON value with TOO_DEEP in place of the objects and lists below `most` levels."""
    match value:
        case dict() | list() if not most:
            return TOO_DEEP
        case dict():
            return {key: cut_below(inner, most - 1) for key, inner in value.items()}
        case list():
            return [cut_below(inner, most - 1) for inner in value]
    return value


# --- values --------------------------------------------------------------------------------------


def _several(value: object) -> Iterable[object]:
    """Return the members of a list; a single value as its only member."""
    return value if isinstance(value, list) else () if value is None else (value,)


def _as_text(value: object) -> JsonObject:
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return {"type": "text", "text": "" if value is None else shown}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _object(value: object) -> JsonObject:
    return dict(value) if isinstance(value, Mapping) else {}
