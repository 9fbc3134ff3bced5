"""Request matching: whether two requests of different runs are the same step. Pure.

A step is identified by the answers before it. The parts between them are compared by their meaning:
parts that the run's input decides must be equal (the goal, assignments, the person's messages,
results of commands and files); parts that the team's answers decide may come sooner or later, and
in any order (messages and notices of the team, the results of its own tools, such as a view of the
board).

Ids, dates, times, folders and the agent's name differ in every run. They are masked before two
requests are compared, and those of one run are mapped to the other's, so that an answer of one run
can be given with the names of the other.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, Final, Literal

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
NUMBER: Final = r"-\d{1,3}"
"""The suffix that distinguishes agents of one name in one home: NAME, NAME-2."""
NAMED: Final = ("run", "dir", "id")
MODEL_KEYS: Final = frozenset({"model", "worker_model"})
MODEL: Final = "<model>"
SHOWN: Final = 60
TEAM_TOOLS: Final = frozenset(
    (
        "checkpoint",
        "suggest_next",
        "spawn_worker",
        "create_work_node",
        "assign_worker",
        "wait",
        "check_board",
        "update_node",
        "cancel_node",
        "retire_worker",
        "launch_roles",
        "reconvene",
        "finish",
        "end_cycle",
        "send_message",
        "check_messages",
        "read_shared_value",
        "write_shared_value",
        "append_shared_value",
        "list_shared_values",
        "list_triggers",
    )
)
"""Tools with results about the team, which depend on the time of the call."""
NOTICE: Final = re.compile(r"\[(?:Runtime|Board|Message from (?!human\]).*)\]: ")
"""Prefixes of texts of the team and the runtime; these may come at any time."""
ASSIGNMENT: Final = "# Assignment: "
OF_THE_MOMENT: Final = re.compile(r"^(?:Your team: |Keys of the shared values\b).*\n?", re.M)
"""The lines of an assignment that depend on when it was given."""
OF_THE_MACHINE: Final = re.compile(
    r"^## Models and external agents$.*?(?=^If the work |^#|\Z)|^### This machine$.*?(?=^#|\Z)",
    re.M | re.S,
)
"""The parts of a prompt that depend on usable services, programs, and the models of workers."""
OF_EARLIER_WORK: Final = re.compile(
    r"^## Notes of earlier work\n\n(?:.+\n)+\n(?:(?:[->] .*|>)?(?:\n|\Z))+", re.M
)
"""The notes in a prompt or an assignment: the content of the knowledge database at that time
(`agiraph.knowledge.relevant`)."""
SYSTEM: Final = "the system prompt"
CANCELLED: Final = "[interrupted]"

PartKind = Literal["input", "answer", "team", "notice"]


@dataclass(frozen=True, slots=True)
class RequestPart:
    """One part of a request: its label, its text, and the origin of the text.

    `kind`: `input` and `answer` are compared by their texts; of `team`, the result of a tool, only
    its presence; a `notice` is not compared. `agent` is the name of the run's agent.
    """

    label: str
    text: str
    kind: PartKind = "input"
    agent: str = ""

    @property
    def what(self) -> str:
        """The label without the number of the turn."""
        return self.label.partition(", ")[2] or self.label

    @property
    def compared(self) -> str:
        """The text as it is compared: without notes and moments, volatile parts masked."""
        text = OF_EARLIER_WORK.sub("", self.text).rstrip()
        if self.label == SYSTEM:
            text = OF_THE_MACHINE.sub("", text)
        elif text.startswith(ASSIGNMENT):
            text = OF_THE_MOMENT.sub("", text)
        return masked(text)


@dataclass(frozen=True, slots=True)
class RequestDifference:
    """The place of the first difference of two requests, and both texts around it."""

    label: str
    recorded: str
    now: str

    def describe(self) -> str:
        """Return the difference as a sentence."""
        return f"{self.label} differs: recorded {self.recorded!r}, now {self.now!r}"


@lru_cache(maxsize=4096)
def masked(text: str) -> str:
    """Return a text with ids, dates, folders and other parts that differ between runs masked."""
    return VOLATILE.sub(lambda found: f"<{found.lastgroup}>", text)


def unnumbered(text: str, entity: str) -> str:
    """Return a text in which the name of the entity's agent has no number (NAME-2 is NAME).

    Of two agents with the same goal in one home the second is called NAME-2.
    """
    first = re.escape(entity.partition("/")[0].partition("-")[0])
    return re.sub(rf"\b({first}(?:-[a-z0-9]+)*?){NUMBER}(?![\w-])", r"\1", text)


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
    """Return the parts of a request; its prompt may name any of `models`.

    An answer that a message has cut off is left out: no step follows from it.
    """
    for model in sorted(models, key=len, reverse=True):
        system = system.replace(model, MODEL)
    pieces = [
        RequestPart(SYSTEM, system),
        RequestPart("the list of tools", " ".join(tools)),
    ]
    for number, turn in enumerate(turns, start=1):
        if not (isinstance(turn, AssistantTurn) and turn.interrupted):
            pieces.append(_part(number, turn))
    agent = agent_name(entity)
    return [replace(piece, text=unnumbered(piece.text, entity), agent=agent) for piece in pieces]


def agent_name(entity: str) -> str:
    """Return the name of an entity's agent, without its id and number."""
    name = re.sub(r"-[0-9a-f]{6,}$", "", entity.partition("/")[0])
    return re.sub(rf"{NUMBER}$", "", name)


def _part(number: int, turn: Turn) -> RequestPart:
    match turn:
        case UserTurn():
            kind: PartKind = "notice" if NOTICE.match(turn.content) else "input"
            return RequestPart(f"turn {number}, the message to it,", turn.content, kind)
        case ToolTurn():
            failed = "failed: " if turn.is_error else ""
            is_timed = turn.name in TEAM_TOOLS or turn.content.startswith(CANCELLED)
            label = f"turn {number}, the result of {turn.name},"
            return RequestPart(label, failed + turn.content, "team" if is_timed else "input")
        case AssistantTurn():
            calls = [f"{c.name} {_arguments(c.arguments)}" for c in turn.tool_calls]
            text = "\n".join([turn.text or "", *calls])
            return RequestPart(f"turn {number}, its answer,", text, "answer")


def _arguments(arguments: Mapping[str, Any]) -> str:
    return json.dumps(with_model(arguments, MODEL), ensure_ascii=False, sort_keys=True)


def with_model(value: Any, model: str) -> Any:
    """Return arguments in which every model name is replaced by `model`."""
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


def is_same_step(recorded: list[RequestPart], now: list[RequestPart]) -> bool:
    """Return whether two requests of an entity follow the same answers."""
    answers = _of_kind("answer", recorded), _of_kind("answer", now)
    return len(answers[0]) == len(answers[1]) and all(map(_is_alike, *answers))


def difference(recorded: list[RequestPart], now: list[RequestPart]) -> RequestDifference | None:
    """Return the first difference of two requests that does not depend on time, or None."""
    recorded, now = ([p for p in parts if p.kind != "notice"] for parts in (recorded, now))
    for one, other in zip(recorded, now, strict=False):
        if one.what != other.what or not _is_alike(one, other):
            was, is_ = one.compared, other.compared
            start = _first_difference(was, is_)
            return RequestDifference(other.label, _around(was, start), _around(is_, start))
    if len(recorded) == len(now):
        return None
    longer = max(recorded, now, key=len)[min(len(recorded), len(now))]
    text = _around(longer.compared, 0)
    is_missing = len(recorded) > len(now)
    return RequestDifference(longer.label, text if is_missing else "", "" if is_missing else text)


def renaming(recorded: list[RequestPart], now: list[RequestPart]) -> dict[str, str]:
    """Return the names of this run by those of the recorded run; the requests must be alike."""
    names: dict[str, str] = {}
    placed = [[p.text for p in parts if p.kind != "notice"] for parts in (recorded, now)]
    for one, other in zip(*placed, strict=True):
        _pair_names(one, other, names)
    said: defaultdict[str, list[str]] = defaultdict(list)
    for line in _lines(now):
        said[masked(line)].append(line)
    for line in _lines(recorded):
        if alike := said[masked(line)]:
            _pair_names(line, alike.pop(0), names)
    return names


def _pair_names(one: str, other: str, names: dict[str, str]) -> None:
    """Add to `names` each id of text `one` with the id at the same place of text `other`.

    Of texts that are only partly alike the equal pieces count.
    """
    if masked(one) == masked(other):
        pairs = [(one, other)]
    else:
        was_pieces, is_pieces = (re.split(r"(?<=[,\n])", text) for text in (one, other))
        was_masked, is_masked = (list(map(masked, pieces)) for pieces in (was_pieces, is_pieces))
        blocks = SequenceMatcher(None, was_masked, is_masked, autojunk=False).get_matching_blocks()
        pairs = [
            (was_pieces[block.a + n], is_pieces[block.b + n])
            for block in blocks
            for n in range(block.size)
        ]
    for was, is_ in pairs:
        for name, now in zip(names_in(was), names_in(is_), strict=False):
            names.setdefault(name, now)


def _lines(parts: list[RequestPart]) -> list[str]:
    return [line for part in _of_kind("notice", parts) for line in part.text.splitlines()]


def _of_kind(kind: PartKind, parts: list[RequestPart]) -> list[RequestPart]:
    return [part for part in parts if part.kind == kind]


def _is_alike(recorded: RequestPart, now: RequestPart) -> bool:
    """Return whether two parts are equal when masked; the agents' names are interchangeable."""
    if "team" in (recorded.kind, now.kind):
        return True
    was, is_ = recorded.compared, now.compared
    if was == is_ or recorded.agent == now.agent or not (recorded.agent and now.agent):
        return was == is_
    either = f"(?:{re.escape(recorded.agent)}|{re.escape(now.agent)})"
    pieces = re.split(rf"(?<!\w){re.escape(recorded.agent)}(?!\w)", was)
    return re.fullmatch(either.join(map(re.escape, pieces)), is_) is not None


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return a JSON value in which each id is replaced by its entry in `names`, if it has one."""
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
