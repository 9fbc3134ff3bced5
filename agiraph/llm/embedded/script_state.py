"""The state of a script, derived from the conversation: a crash can lose nothing.

The script marks each of its calls in the call's id, `{role}-{step}-{visit}-{index}-{digest}`. A
worker starts again at its last assignment, a coordinator at its last goal or the beginning of its
last cycle; only later turns count.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agiraph.core.ids import short_derived_id
from agiraph.core.json_text import parse_json
from agiraph.core.turns import AssistantTurn, JsonObject, ModelRequest, ToolTurn, Turn, UserTurn

ASSIGNMENT = "# Assignment: "
GOAL = "# Goal"
CYCLE = "[Runtime]: # Cycle "
_CYCLE_GOAL = re.compile(r"Your goal is unchanged: (.*?)\n\nWhat you noted at the end", re.DOTALL)
RUNTIME_LINE = "\n\n[Runtime]: "
INPUT_LINE = "The input folder is mounted"
MARK = "script_step"

_WHO = re.compile(r"You are (?P<me>.+?), (?:the (?P<lead>coordinator)|an? (?P<role>[^.\n]+)\.)")
_MESSAGE = re.compile(
    r"^\[Message from (?P<sender>[^\]\n]+)\]: (?P<text>.*?)(?=^\[Message from |\Z)",
    re.DOTALL | re.MULTILINE,
)
CHECK_MESSAGES = "check_messages"
_REF = re.compile(r"^- (?P<name>[^:\n]+): (?P<path>(?:nodes|refs)/[^:\n]+)", re.MULTILINE)


@dataclass(frozen=True)
class CallResult:
    """The result of one call; `ok` is False for an error and for a call without an answer."""

    text: str
    ok: bool

    @cached_property
    def json(self) -> Any:
        """The text parsed as JSON, None if it is not JSON."""
        try:
            return parse_json(self.text)
        except ValueError:
            return None

    def lines_after(self, prefix: str) -> list[str]:
        """Return the rest of every line that begins with `prefix`."""
        return [
            line.removeprefix(prefix) for line in self.text.splitlines() if line.startswith(prefix)
        ]


@dataclass(frozen=True, slots=True)
class ScriptedEntity:
    """The calling entity: its name, its role, and whether it is a coordinator or a worker."""

    me: str
    role: str
    kind: str


@dataclass(frozen=True, slots=True)
class ReceivedText:
    """A message from another entity."""

    sender: str
    text: str


@dataclass(frozen=True, slots=True)
class GivenAssignment:
    """A worker's assignment."""

    name: str = ""
    task: str = ""
    refs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class StepVisit:
    """One execution of a playbook's step, and the results of its calls."""

    step: str
    results: tuple[CallResult, ...]

    @property
    def ok(self) -> bool:
        """Whether all calls of the visit succeeded."""
        return all(result.ok for result in self.results)


@dataclass(frozen=True, slots=True)
class ScriptState:
    """Everything that a script can know: its goal or assignment, its steps, the messages to it."""

    goal: str
    assignment: GivenAssignment
    visits: tuple[StepVisit, ...]
    messages: tuple[ReceivedText, ...]
    unanswered: tuple[ReceivedText, ...]


def caller_of(request: ModelRequest) -> ScriptedEntity:
    """Return the caller, by the first line of the system prompt (else by the entity's address)."""
    found = _WHO.match(request.system.lstrip())
    is_lead = bool(found and found["lead"]) or request.entity.endswith("/coordinator")
    me = found["me"] if found else request.entity.rpartition("/")[2]
    if is_lead:
        return ScriptedEntity(me, "coordinator", "coordinator")
    return ScriptedEntity(me, found["role"] if found and found["role"] else "worker", "worker")


def read_state(turns: Sequence[Turn], role: str) -> ScriptState:
    """Return the state of the script of `role` in a conversation."""
    start = _start(turns)
    since = list(turns[start:])
    first = since[0] if since else None
    given = first.content if isinstance(first, UserTurn) else ""
    spoken = [
        at
        for at, turn in enumerate(since)
        if isinstance(turn, AssistantTurn) and not turn.interrupted
    ]
    received = [(at, one) for at, turn in enumerate(since) for one in _messages(turn)]
    last_answer = spoken[-1] if spoken else -1
    return ScriptState(
        goal=_goal(given),
        assignment=_assignment(given),
        visits=_visits(since, role),
        messages=tuple(one for _, one in received),
        unanswered=tuple(one for at, one in received if at > last_answer),
    )


def call_id(request: ModelRequest, role: str, step: str, visit: int, index: int) -> str:
    """Return an id that is the same for the same request, and otherwise unique."""
    place = (request.entity, request.run_id, request.node_id, str(len(request.turns)))
    return f"{role}-{step}-{visit}-{index}-{short_derived_id(*place)}"


def _start(turns: Sequence[Turn]) -> int:
    """Return the index of the last assignment, goal or cycle, 0 if there is none."""
    for at in range(len(turns) - 1, -1, -1):
        turn = turns[at]
        if isinstance(turn, UserTurn) and turn.content.startswith((ASSIGNMENT, GOAL, CYCLE)):
            return at
    return 0


def _messages(turn: Turn) -> list[ReceivedText]:
    """Return the messages in a turn: the turn itself, or the result of `check_messages`."""
    is_message = isinstance(turn, UserTurn) and turn.content.startswith("[Message from ")
    is_check = isinstance(turn, ToolTurn) and turn.name == CHECK_MESSAGES
    if not (is_message or is_check) or isinstance(turn, AssistantTurn):
        return []
    return [
        ReceivedText(found["sender"], found["text"].strip())
        for found in _MESSAGE.finditer(turn.content)
    ]


def _goal(text: str) -> str:
    if text.startswith(CYCLE):
        found = _CYCLE_GOAL.search(text)
        return found[1].strip() if found else ""
    if not text.startswith(GOAL):
        return ""
    said = text.removeprefix(GOAL).partition(RUNTIME_LINE)[0]
    return said.partition(INPUT_LINE)[0].strip()


def _assignment(text: str) -> GivenAssignment:
    if not text.startswith(ASSIGNMENT):
        return GivenAssignment()
    name, _, task = text.removeprefix(ASSIGNMENT).partition("\n")
    refs = tuple((found["name"].strip(), found["path"].strip()) for found in _REF.finditer(task))
    return GivenAssignment(name.strip(), task.strip(), refs)


def _visits(turns: Sequence[Turn], role: str) -> tuple[StepVisit, ...]:
    results = {
        turn.call_id: CallResult(turn.content, not turn.is_error)
        for turn in turns
        if isinstance(turn, ToolTurn)
    }
    none = CallResult("", ok=False)
    return tuple(
        StepVisit(step, tuple(results.get(call.id, none) for call in turn.tool_calls))
        for turn in turns
        if isinstance(turn, AssistantTurn) and (step := _step_of(turn, role)) is not None
    )


def _step_of(turn: AssistantTurn, role: str) -> str | None:
    """Return the id of the step of `role` that made an answer, None if another role made it.

    The ids of the answer's calls contain it; an answer without calls has a mark.
    """
    if turn.interrupted:
        return None
    if turn.tool_calls:
        marks = turn.tool_calls[0].id.split("-")
        return marks[1] if len(marks) == 5 and marks[0] == role else None
    data: JsonObject = turn.provider_data or {}
    mark = data.get(MARK)
    return mark[1] if isinstance(mark, list) and len(mark) == 2 and mark[0] == role else None
