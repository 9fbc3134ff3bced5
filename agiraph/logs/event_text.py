"""An event as a sentence for people, rendered from the table of event types. Pure.

A template is text with `{field}` or `{field:format}` for values of the event's data, and `[...]`
around a part that is left out if a value in it is empty. The formats:

    name         an address without its agent and number: `shop-1/ada-7f3a01` is `ada`
    count NOUN   a number, or the length of a list: `3 nodes`, `1 node`; empty for none
    seconds      a length of time; empty below one second
    apart        the time between the event and this time, as a length of time
    call         the arguments of a tool call in one line
    words        text without the punctuation of JSON
    each KEY     the values of KEY in a list of objects
    yes|no       the first text if the value is true, else the second
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, get_args

from agiraph.core.event_types import BY_NAME, Audience, Tone
from agiraph.core.models import Event
from agiraph.core.naming import on_one_line, short_name

AUTORUN: Final = "sandbox.autorun"
VALUE_CHARACTERS: Final = 1000
CALL_CHARACTERS: Final = 160
ARGUMENT_CHARACTERS: Final = 60
MAIN_ARGUMENTS: Final = ("command", "path", "question", "nodes")
_FIELD: Final = re.compile(r"\{(\w+)(?::([^}]*))?\}")
_PART: Final = re.compile(rf"\[([^]]*)\]|{_FIELD.pattern}")
AUDIENCES: Final = get_args(Audience)
_LENGTHS: Final = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def sentence_of(event: Event, node_name: Callable[[str], str] = str) -> str:
    """Return the sentence of an event in one line; its type and values if the type is unknown.

    `node_name` returns the name of a node by its id, for the arguments of a call.
    """
    kind = BY_NAME.get(event.type)
    if kind is None:
        return " ".join((event.type, _pairs(event.data)))

    def part(found: re.Match[str]) -> str:
        inner, field, form = found.groups()
        if inner is None:
            return _value(event, field, form, node_name)
        values = [_value(event, one[1], one[2], node_name) for one in _FIELD.finditer(inner)]
        return _FIELD.sub(lambda _: values.pop(0), inner) if all(values) else ""

    return _PART.sub(part, kind.text)


def fields_of(template: str) -> Iterator[tuple[str, str]]:
    """Yield the fields that a template names, each with its format ('' for none)."""
    return ((field, form or "") for field, form in _FIELD.findall(template))


def who_of(event: Event) -> str:
    """Return the short name of the entity that caused the event, or of its subject."""
    kind = BY_NAME.get(event.type)
    acting = event.data.get(kind.who) if kind is not None and kind.who else ""
    named = acting or event.entity or event.data.get("from") or event.agent_id
    return short_name(str(named).rpartition("/")[2])


def detail_of(event: Event) -> str:
    """Return the key of the longer text in the event's data, '' if there is none."""
    keys = BY_NAME[event.type].detail if event.type in BY_NAME else ()
    return next((key for key in keys if isinstance(v := event.data.get(key), str) and v), "")


def look_of(event: Event) -> tuple[Tone, Audience]:
    """Return the tone and the audience of an event, by its type and its `notable` field."""
    kind = BY_NAME.get(event.type)
    if kind is None:
        return "quiet", "entity"
    if kind.notable is not None and event.data.get(kind.notable[0]):
        return kind.notable[1:]
    return kind.tone, kind.audience


def is_for(audience: Audience, event: Event) -> bool:
    """Whether an event is for the readers of `audience`."""
    return AUDIENCES.index(look_of(event)[1]) >= AUDIENCES.index(audience)


def _value(event: Event, field: str, form: str | None, node_name: Callable[[str], str]) -> str:
    value, form = event.data.get(field), form or ""
    if "|" in form:
        return form.split("|")[0 if value else 1]
    name, _, argument = form.partition(" ")
    match name:
        case "name":
            return short_name(str(value or "").rpartition("/")[2])
        case "count":
            return _count(value, argument)
        case "seconds":
            return _length(value)
        case "apart":
            return _length(abs(value - event.ts)) if isinstance(value, int | float) else ""
        case "call":
            return _call(value, node_name)
        case "words" if isinstance(value, str):
            return _shown(_words(value), CALL_CHARACTERS)
        case "each" if isinstance(value, list | tuple):
            return _shown([one.get(argument) for one in value if isinstance(one, dict)])
        case _:
            return _shown(value)


def _shown(value: Any, most: int = VALUE_CHARACTERS) -> str:
    """Return a value as one line of at most `most` characters."""
    if isinstance(value, list | tuple):
        text = ", ".join(_shown(one, most) for one in value)
    elif isinstance(value, str):
        text = on_one_line(value)
    else:
        text = "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _count(value: Any, noun: str) -> str:
    number = len(value) if isinstance(value, list | tuple) else value
    if not isinstance(number, int) or not number:
        return ""
    return f"{number:,} {noun}{'' if number == 1 else 's'}" if noun else f"{number:,}"


def _length(seconds: Any) -> str:
    if not isinstance(seconds, int | float):
        return ""
    found = ((unit, size) for unit, size in _LENGTHS if seconds >= size)
    return next((f"{seconds // size:.0f} {unit}" for unit, size in found), "")


def _call(arguments: Any, node_name: Callable[[str], str]) -> str:
    """Return the arguments of a tool call in one line: the main argument, or a script's comment."""
    if not isinstance(arguments, dict):
        return _shown(arguments)
    main = next((value for name in MAIN_ARGUMENTS if (value := arguments.get(name))), None)
    if isinstance(main, str):
        first, _, more = main.strip().partition("\n")
        is_comment = first.startswith("# ")
        return _shown(f"{first}\n…" if is_comment and more else main, CALL_CHARACTERS)
    if isinstance(main, list | tuple):
        return _shown([node_name(str(one)) for one in main], CALL_CHARACTERS)
    return _shown(_pairs(arguments), CALL_CHARACTERS)


def _pairs(values: dict[str, Any]) -> str:
    given = ((name, value) for name, value in values.items() if value is not None)
    return " ".join(f"{name}={_shown(value, ARGUMENT_CHARACTERS)}" for name, value in given)


def _words(text: str) -> str:
    """Return a text; JSON, or the beginning of JSON, without its punctuation."""
    if not text.startswith(("{", "[{")):
        return text
    return re.sub(r'[{}\[\]"]', "", re.sub(r'"(\w+)":', r"\1", text)).replace("\\n", " ")


def autorun_marks(type: str, data: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return the paths and marks of the files that an event names; none for another type.

    The result is empty for data of another shape: a compromised worker can report any data.
    """
    paths, marks = data.get("paths"), data.get("marks")
    if type != AUTORUN or not (isinstance(paths, list) and isinstance(marks, list)):
        return set()
    pairs = zip(paths, marks, strict=False)
    return {(path, mark) for path, mark in pairs if isinstance(path, str) and isinstance(mark, str)}
