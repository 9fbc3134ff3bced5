"""Events told as lines for people: who did what, in one line each.

The narrator knows no more of an event's `data` than it needs, and tells a type that it has never
seen as its name and values, so that a new event is shown before anyone has written its line.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from agiraph.core.models import Event
from cli.sanitize import one_line, short_name

Tone = Literal["plain", "quiet", "good", "bad", "voice", "ask"]
Data = dict[str, Any]

TEXT_LIMIT = 2000
ARGUMENT_LIMIT = 160


@dataclass(frozen=True, slots=True)
class EventLine:
    """One thing to show: who, what, and how it should look."""

    who: str
    text: str
    tone: Tone = "plain"


# What needs no line of its own while a person watches a run: another line says it already.
MINOR = frozenset(
    {
        "agent.created", "message.received", "worker.idle", "worker.busy", "worker.stopped",
        "node.assigned", "node.blocked", "node.unblocked", "model.answered", "stage.completed",
        "child.starting", "child.stopping", "child.stopped", "child.exited",
    }
)  # fmt: skip

WORKERS_DEEDS = frozenset(
    {"node.started", "node.completed", "node.failed", "node.blocked", "node.unblocked"}
)


@dataclass(slots=True)
class EventNarrator:
    """Tells events as lines; learns the names of workers and nodes from the events it is shown."""

    names: dict[str, str] = field(default_factory=dict)

    def learn(self, key: str | None, name: str | None) -> None:
        """Remember that the entity or node `key` is called `name`."""
        if key and name:
            self.names[key] = name

    def describe(self, event: Event) -> EventLine:
        """Return the line of an event."""
        data = event.data
        if event.type.startswith("worker."):
            self.learn(text_of(data, "worker_id", "id", "worker"), text_of(data, "name"))
        if event.type.startswith("node.") and event.node_id:
            self.learn(event.node_id, text_of(data, "name"))
        teller = _TELLERS.get(event.type)
        text, tone = teller(self, event) if teller else (_values(event), "quiet")
        return EventLine(self.who(event), one_line(text, TEXT_LIMIT), tone)

    def describe_if_major(self, event: Event) -> EventLine | None:
        """Return the line of an event that a person who watches a run wants to see, else None."""
        line = self.describe(event)
        is_minor = event.type in MINOR
        if event.type == "tool.result":
            is_minor = not is_failed_tool(event)
        if event.type == "child.ready":
            is_minor = event.data.get("incarnation") in (None, 1)
        return None if is_minor else line

    def who(self, event: Event) -> str:
        """Return the short name of the entity that an event is about."""
        # The coordinator tells of the nodes, but it is the worker who works on them.
        worker = text_of(event.data, "worker") if event.type in WORKERS_DEEDS else ""
        entity = worker or event.entity or text_of(event.data, "from") or event.agent_id
        return one_line(self.name(entity), 40)

    def name(self, entity: str) -> str:
        """Return how people call an address or id: the part after the agent, without its number."""
        last = entity.rpartition("/")[2]
        return self.names.get(entity) or self.names.get(last) or short_name(last)

    def node(self, event: Event) -> str:
        """Return the name of the node that an event is about."""
        named = text_of(event.data, "name", "node_name", "node")
        return named or self.name(event.node_id or "node")

    def worker(self, event: Event) -> str:
        """Return the name of the worker that an event speaks of, or ''."""
        found = text_of(event.data, "worker_name", "worker", "assigned_worker", "worker_id")
        return self.name(found) if found else ""


def text_of(data: Data, *keys: str) -> str:
    """Return the first of `keys` that holds text, or ''."""
    return next((v for key in keys if isinstance(v := data.get(key), str) and v), "")


def is_failed_tool(event: Event) -> bool:
    """Whether this tool call ended with an error."""
    return bool(event.data.get("is_error"))


def arguments_of(data: Data) -> str:
    """Return a tool call's arguments for one line: a shell's command, or what it says it does."""
    arguments = data.get("arguments", data.get("args"))
    if isinstance(arguments, str):
        return one_line(arguments, ARGUMENT_LIMIT)
    if not isinstance(arguments, dict):
        return text_of(data, "preview")
    main = text_of(arguments, "command", "path", "question")
    if main:
        return one_line(_purpose(main), ARGUMENT_LIMIT)
    shown = (f"{key}={_short(value)}" for key, value in arguments.items() if value is not None)
    return one_line(" ".join(shown), ARGUMENT_LIMIT)


def _purpose(command: str) -> str:
    """Return the comment that a script begins with, or else the whole of it."""
    first = command.lstrip().partition("\n")[0]
    return first if first.startswith("# ") else command


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return one_line(text, 60)


def _values(event: Event) -> str:
    shown = " ".join(f"{key}={_short(value)}" for key, value in event.data.items())
    return f"{event.type} {shown}".strip()


Told = tuple[str, Tone]


def _with(text: str, more: str, joint: str = ": ") -> str:
    return f"{text}{joint}{more}" if more else text


def _tool_called(teller: EventNarrator, event: Event) -> Told:
    tool = text_of(event.data, "tool", "name")
    arguments = event.data.get("arguments")
    nodes = arguments.get("nodes") if isinstance(arguments, dict) else None
    if tool == "wait" and isinstance(nodes, list | tuple):
        return _with("waits for", ", ".join(teller.name(str(n)) for n in nodes), " "), "quiet"
    return _with(tool, arguments_of(event.data), " "), "quiet"


def _tool_result(_teller: EventNarrator, event: Event) -> Told:
    tool = text_of(event.data, "tool", "name")
    result = one_line(text_of(event.data, "content", "result", "preview", "error"), ARGUMENT_LIMIT)
    verb = "failed" if is_failed_tool(event) else "done"
    return _with(f"{tool} {verb}", result), "bad" if is_failed_tool(event) else "quiet"


def _message(teller: EventNarrator, event: Event) -> Told:
    to = teller.name(text_of(event.data, "to_name", "to", "to_id") or "?")
    return f"→ {to}: {text_of(event.data, 'content', 'text', 'message')}", "voice"


def _question(_teller: EventNarrator, event: Event) -> Told:
    return f"asks you: {text_of(event.data, 'question')}", "ask"


def _answered(teller: EventNarrator, event: Event) -> Told:
    asker = text_of(event.data, "to")
    to = f" {teller.name(asker)}" if asker else ""
    return f"answered{to}: {text_of(event.data, 'answer', 'response')}", "voice"


def _node_created(teller: EventNarrator, event: Event) -> Told:
    return _with(f"new node {teller.node(event)}", text_of(event.data, "task")), "plain"


def _node_assigned(teller: EventNarrator, event: Event) -> Told:
    return _with(f"node {teller.node(event)} goes to", teller.worker(event), " "), "quiet"


def _node_started(teller: EventNarrator, event: Event) -> Told:
    return _with(f"works on {teller.node(event)}", text_of(event.data, "task")), "plain"


def _node_completed(teller: EventNarrator, event: Event) -> Told:
    return _with(f"completed {teller.node(event)}", text_of(event.data, "summary")), "good"


def _node_waits(teller: EventNarrator, event: Event) -> Told:
    waits_for = event.data.get("on")
    names = ", ".join(map(str, waits_for)) if isinstance(waits_for, list) else ""
    return _with(f"{teller.node(event)} waits for", names, " "), "quiet"


def _node_failed(teller: EventNarrator, event: Event) -> Told:
    return _with(f"failed at {teller.node(event)}", text_of(event.data, "reason")), "bad"


def _node_checked(teller: EventNarrator, event: Event) -> Told:
    checks = event.data.get("checks")
    ended = [one for one in checks if isinstance(one, dict)] if isinstance(checks, list) else []
    failed = [str(one.get("command", "")) for one in ended if one.get("exit_code") != 0]
    if failed:
        return _with(f"{len(failed)} of {len(ended)} checks failed", "; ".join(failed)), "bad"
    return f"{len(ended)} of {len(ended)} checks passed", "good"


def _worker_spawned(teller: EventNarrator, event: Event) -> Told:
    name = text_of(event.data, "name") or teller.worker(event)
    return _with(f"new worker {name}", text_of(event.data, "role"), ", "), "plain"


def _thought(_teller: EventNarrator, event: Event) -> Told:
    calls = event.data.get("calls")
    names = ", ".join(map(str, calls)) if isinstance(calls, list | tuple) else ""
    return _with("thought", text_of(event.data, "text") or names), "quiet"


def _no_sandbox(_teller: EventNarrator, event: Event) -> Told:
    effect, advice = text_of(event.data, "effect"), text_of(event.data, "advice")
    told = f"{effect}: there is no sandbox, {text_of(event.data, 'why')}"
    return _with(told, advice, ". To mend it: "), "bad"


def _outside_started(_teller: EventNarrator, event: Event) -> Told:
    agent, number = text_of(event.data, "agent"), event.data.get("number")
    if number in (None, 1):
        return f"{agent} is started", "plain"
    how = "its conversation goes on" if text_of(event.data, "session") else "it begins anew"
    return f"{agent} is started again (number {number}): {how}", "plain"


def _outside_ended(_teller: EventNarrator, event: Event) -> Told:
    agent, problem = text_of(event.data, "agent"), text_of(event.data, "problem")
    if problem:
        return _with(f"{agent} failed", problem), "bad"
    return f"{agent} has ended", "quiet"


def _ready(_teller: EventNarrator, event: Event) -> Told:
    number = event.data.get("incarnation")
    if number in (None, 1):
        return "its process is ready", "quiet"
    return f"its process is back (number {number}) and goes on where it was", "good"


def _phrase(
    phrase: str, *keys: str, tone: Tone = "plain"
) -> Callable[[EventNarrator, Event], Told]:
    """Return a teller that says `phrase` and the first of `keys` that the event has."""

    def tell(_teller: EventNarrator, event: Event) -> Told:
        return _with(phrase, text_of(event.data, *keys)), tone

    return tell


_TELLERS: dict[str, Callable[[EventNarrator, Event], Told]] = {
    "agent.created": _phrase("created", "goal"),
    "agent.started": _phrase("started", "model"),
    "agent.paused": _phrase("paused", tone="ask"),
    "agent.resumed": _phrase("goes on"),
    "agent.completed": _phrase("the goal is met", tone="good"),
    "agent.failed": _phrase("gave up", "reason", "error", tone="bad"),
    "agent.set_aside": _phrase("is left out by a service", "service", "reason", tone="bad"),
    "agent.stopped": _phrase("stopped", "reason", tone="bad"),
    "stage.started": _phrase("stage opened", "name", "stage"),
    "stage.reconvened": _phrase("the team reconvenes", "assessment"),
    "stage.completed": _phrase("stage completed", "name", "stage", tone="good"),
    "node.created": _node_created,
    "node.assigned": _node_assigned,
    "node.started": _node_started,
    "node.completed": _node_completed,
    "node.failed": _node_failed,
    "node.checked": _node_checked,
    "node.blocked": _node_waits,
    "node.unblocked": _phrase("goes on with", "name", tone="quiet"),
    "node.cancelled": _phrase("node cancelled", "reason", tone="bad"),
    "node.checkpoint": _phrase("milestone", "summary"),
    "worker.spawned": _worker_spawned,
    "worker.stopped": _phrase("worker stopped", "name", tone="quiet"),
    "outside.warning": _phrase("mind", "text", tone="ask"),
    "outside.started": _outside_started,
    "outside.ended": _outside_ended,
    "sandbox.missing": _no_sandbox,
    "entity.failed": _phrase("was given up", "reason", "cause", tone="bad"),
    "entity.suspect": _phrase("does not answer", "step", tone="bad"),
    "entity.recovered": _phrase("answers again"),
    "child.ready": _ready,
    "child.crashed": _phrase("its process died", "cause", tone="bad"),
    "child.starting": _phrase("its process is started", tone="quiet"),
    "child.backing_off": _phrase("its process is started again in a moment", tone="quiet"),
    "service.backing_off": _phrase("is started again in a moment", "cause", tone="bad"),
    "service.recovered": _phrase("is back"),
    "child.failed": _phrase("its process died too often", "cause", tone="bad"),
    "child.stopping": _phrase("its process is being stopped", tone="quiet"),
    "child.stopped": _phrase("its process is stopped", "cause", tone="quiet"),
    "child.exited": _phrase("its process ended", "cause", tone="quiet"),
    "tool.called": _tool_called,
    "tool.result": _tool_result,
    "message.sent": _message,
    "message.dead": _phrase("a message was set aside", "cause", tone="bad"),
    "human.question": _question,
    "human.response": _answered,
    "human.nudge": _phrase("nudged", "content", "message", tone="voice"),
    "model.answered": _thought,
    "model.retry": _phrase("the model is tried again", "message", "kind", "reason", tone="bad"),
    "model.fallback": _phrase("another model is asked", "to", tone="bad"),
    "model.failed": _phrase("the model failed", "message", "kind", tone="bad"),
}
