"""Request matching: whether two requests of different runs are the same but for names. Pure.

Ids, dates, times and folders differ in every run. They are masked before two requests are compared;
and because they have the same places, those of one run map to those of the other, so that an answer
of one run can be given with the names of the other.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agiraph.core.turns import AssistantTurn, ToolTurn, Turn, UserTurn

MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
DAY: Final = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
VOLATILE: Final = re.compile(
    rf"""
      (?P<run>\b\d{{8}}-\d{{6}}-[0-9a-f]{{6,32}}\b)
    | (?P<time>
          \b\d{{4}}-\d{{2}}-\d{{2}}
          (?:[T\ ]\d{{2}}:\d{{2}}(?::\d{{2}}(?:\.\d+)?)?(?:Z|[+-]\d{{2}}:?\d{{2}})?)?
        | \b(?:{DAY},?\s+)?(?:\d{{1,2}}\ {MONTH}(?!\s+\d{{1,2}}\b)|{MONTH}\s+\d{{1,2}})\b
          (?:,?\s+\d{{4}}\b)?
        | \b{DAY}\b(?=,)
        | \b\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:\.\d+)?)?\b
        | \b1[6-9]\d{{8}}(?:\.\d+)?\b
        | \b\d+(?:\.\d+)?\s?(?:ms|s|seconds?|min|minutes?|h|hours?)\b
      )
    | (?P<dir>(?<![\w.~])/(?:[^\s/"'`:,;()<>|\\]+/)+)
    | (?P<id>
          (?<=[-_])[0-9a-f]{{6}}(?:[0-9a-f]{{2}})?(?![0-9a-zA-Z])
        | \b(?=[0-9a-f]*\d)[0-9a-f]{{6,64}}\b
      )
    """,
    re.X,
)
NAMED: Final = ("run", "dir", "id")
MODEL_KEYS: Final = frozenset({"model", "worker_model"})
MODEL: Final = "<model>"
SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class RequestPart:
    """One part of a request: what it is called, and its text."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class RequestDifference:
    """Where two requests differ first."""

    label: str
    recorded: str
    now: str

    def describe(self) -> str:
        """Return it as text."""
        return f"{self.label} differs: recorded {self.recorded!r}, now {self.now!r}"


def masked(text: str) -> str:
    """Return a text with what differs from run to run masked."""
    return VOLATILE.sub(lambda found: f"<{found.lastgroup}>", text)


def unnumbered(text: str, entity: str) -> str:
    """Return a text in which the name of the entity's agent has no number behind it.

    Of two agents that are made of the same goal in one home the second is called NAME-2.
    """
    first = re.escape(entity.partition("/")[0].partition("-")[0])
    return re.sub(rf"\b({first}(?:-[a-z0-9]+)*?)-\d{{1,3}}(?![\w-])", r"\1", text)


def names_in(text: str) -> list[str]:
    """Return the ids and folders in a text, in order."""
    return [m[0] for m in VOLATILE.finditer(text) if m.lastgroup in NAMED]


def pieces_of(
    entity: str,
    system: str,
    tools: tuple[str, ...],
    turns: tuple[Turn, ...],
    models: Iterable[str] = (),
) -> list[RequestPart]:
    """Return the parts of a request that are compared; its prompt may name any of `models`."""
    for model in sorted(models, key=len, reverse=True):
        system = system.replace(model, MODEL)
    pieces = [
        RequestPart("the system prompt", system),
        RequestPart("the list of tools", " ".join(tools)),
    ]
    for number, turn in enumerate(turns, start=1):
        match turn:
            case UserTurn():
                pieces.append(RequestPart(f"turn {number}, the message to it,", turn.content))
            case ToolTurn():
                failed = "failed: " if turn.is_error else ""
                label = f"turn {number}, the result of {turn.name},"
                pieces.append(RequestPart(label, failed + turn.content))
            case AssistantTurn():
                calls = [f"{c.name} {_arguments(c.arguments)}" for c in turn.tool_calls]
                text = "\n".join([turn.text or "", *calls])
                pieces.append(RequestPart(f"turn {number}, its answer,", text))
    return [RequestPart(piece.label, unnumbered(piece.text, entity)) for piece in pieces]


def _arguments(arguments: Mapping[str, Any]) -> str:
    return json.dumps(with_model(arguments, MODEL), ensure_ascii=False, sort_keys=True)


def with_model(value: Any, model: str) -> Any:
    """Return arguments in which every model that is named is this one."""
    match value:
        case dict():
            return {
                key: model if key in MODEL_KEYS and isinstance(one, str) else with_model(one, model)
                for key, one in value.items()
            }
        case list() | tuple():
            return [with_model(one, model) for one in value]
        case _:
            return value


def difference(recorded: list[RequestPart], now: list[RequestPart]) -> RequestDifference | None:
    """Return where two requests differ first, None if they are alike."""
    for one, other in zip(recorded, now, strict=False):
        was, is_ = masked(one.text), masked(other.text)
        if was != is_ or one.label != other.label:
            start = _first_difference(was, is_)
            return RequestDifference(other.label, _around(was, start), _around(is_, start))
    if len(recorded) == len(now):
        return None
    longer = max(recorded, now, key=len)[min(len(recorded), len(now))]
    text = _around(masked(longer.text), 0)
    is_missing = len(recorded) > len(now)
    return RequestDifference(longer.label, text if is_missing else "", "" if is_missing else text)


def renaming(recorded: list[RequestPart], now: list[RequestPart]) -> dict[str, str]:
    """Return what the names of the recorded run are called in this one; the two must be alike."""
    names: dict[str, str] = {}
    for one, other in zip(recorded, now, strict=True):
        for was, is_ in zip(names_in(one.text), names_in(other.text), strict=False):
            names.setdefault(was, is_)
    return names


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return a JSON value with the names of this run."""
    match value:
        case str():
            return VOLATILE.sub(lambda found: names.get(found[0], found[0]), value)
        case dict():
            return {key: renamed(one, names) for key, one in value.items()}
        case list() | tuple():
            return [renamed(one, names) for one in value]
        case _:
            return value


def _first_difference(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _around(text: str, place: int) -> str:
    start, end = max(0, place - SHOWN // 2), place + SHOWN
    return ("..." if start else "") + text[start:end] + ("..." if end < len(text) else "")
