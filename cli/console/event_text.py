"""Events as lines for people: who did what, in one line each.

Every type of the table of event types has its sentence here. An event of an unknown type, which a
newer Agiraph has reported, is shown as its name and values.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from agiraph.core.models import Event
from agiraph.core.money import Unit, shown
from cli.output.formats import format_time
from cli.sanitize import one_line, short_name

Tone = Literal["plain", "quiet", "good", "bad", "voice", "ask"]
Data = dict[str, Any]

TEXT_LIMIT = 2000
ARGUMENT_LIMIT = 160
TIMES = frozenset({"due", "next_at", "deadline_at"})


@dataclass(frozen=True, slots=True)
class EventLine:
    """One thing to show: who, what, and how it should look; a screen may cut one that `fits`."""

    who: str
    text: str
    tone: Tone = "plain"
    fits: bool = False


# What needs no line while a person watches a run: another line says it already.
MINOR = frozenset(
    {
        "agent.created", "message.received", "worker.idle", "worker.busy", "worker.stopped",
        "node.assigned", "node.blocked", "node.unblocked", "model.answered", "model.failed",
        "stage.completed", "child.stopped", "child.exited", "child.backing_off",
    }
)  # fmt: skip

BY_WORKERS = frozenset(
    {"node.started", "node.completed", "node.failed", "node.blocked", "node.unblocked"}
)


@dataclass(slots=True)
class EventNarrator:
    """Describes events; learns the names of workers and nodes from the events it is given."""

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
        describe = _DESCRIBERS.get(event.type)
        text, tone = describe(self, event) if describe else (_values(event), "quiet")
        return EventLine(self.who(event), one_line(text, TEXT_LIMIT), tone)

    def describe_if_major(self, event: Event) -> EventLine | None:
        """Return the line of an event that a person who watches a run wants to see, else None."""
        line = self.describe(event)
        is_minor = event.type in MINOR
        if event.type == "tool.result":
            is_minor = not is_failed_tool(event)
        if event.type == "child.ready":
            is_minor = is_plain_start(event)
        return None if is_minor else line

    def who(self, event: Event) -> str:
        """Return the short name of the entity that an event is about."""
        if event.type == "team.turn":
            return one_line(text_of(event.data, "from_role"), 40)
        # The coordinator reports nodes, but it is the worker who works on them.
        worker = text_of(event.data, "worker") if event.type in BY_WORKERS else ""
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
        """Return the name of the worker that an event is about, or ''."""
        is_new = event.type == "worker.spawned"
        named = text_of(event.data, "name") if is_new else ""
        found = text_of(event.data, "worker_name", "worker", "assigned_worker", "worker_id")
        return named or (self.name(found) if found else "")


def text_of(data: Data, *keys: str) -> str:
    """Return the first of `keys` that holds text, or ''."""
    return next((v for key in keys if isinstance(v := data.get(key), str) and v), "")


def is_failed_tool(event: Event) -> bool:
    """Whether this tool call ended with an error."""
    return bool(event.data.get("is_error"))


def arguments_of(data: Data) -> str:
    """Return a tool call's arguments in one line: of a shell, its command or first comment."""
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


def arguments_in_lines(arguments: object) -> str:
    """Return a call's arguments for reading: each on its line, long texts as they are."""
    if not isinstance(arguments, dict):
        return str(arguments) if arguments else ""
    lines = []
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
        joint = "\n" if "\n" in text else " "
        lines.append(f"{name}:{joint}{text}")
    return "\n".join(lines)


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


Described = tuple[str, Tone]


def _with(text: str, more: str, joint: str = ": ") -> str:
    return f"{text}{joint}{more}" if more else text


def _tool_called(narrator: EventNarrator, event: Event) -> Described:
    tool = text_of(event.data, "tool", "name")
    arguments = event.data.get("arguments")
    nodes = arguments.get("nodes") if isinstance(arguments, dict) else None
    if tool == "wait" and isinstance(nodes, list | tuple):
        return _with("waits for", ", ".join(narrator.name(str(n)) for n in nodes), " "), "quiet"
    if tool == "wait":
        return "waits for its nodes or a message", "quiet"
    return _with(tool, arguments_of(event.data), " "), "quiet"


def _tool_result(_narrator: EventNarrator, event: Event) -> Described:
    tool = text_of(event.data, "tool", "name")
    told = text_of(event.data, "content", "result", "preview", "error")
    result = one_line(_without_json(told), ARGUMENT_LIMIT)
    verb = "failed" if is_failed_tool(event) else "done"
    return _with(f"{tool} {verb}", result), "bad" if is_failed_tool(event) else "quiet"


def _without_json(text: str) -> str:
    """Return a text as words if it is JSON, or the beginning of some."""
    if not text.startswith(("{", "[{")):
        return text
    return re.sub(r'[{}\[\]"]', "", re.sub(r'"(\w+)":', r"\1", text)).replace("\\n", " ")


def _message(narrator: EventNarrator, event: Event) -> Described:
    to = narrator.name(text_of(event.data, "to_name", "to", "to_id") or "?")
    return f"→ {to}: {text_of(event.data, 'content', 'text', 'message')}", "voice"


def _answered(narrator: EventNarrator, event: Event) -> Described:
    asker = text_of(event.data, "to")
    to = f" {narrator.name(asker)}" if asker else ""
    return f"answered{to}: {text_of(event.data, 'answer', 'response')}", "voice"


def _node_blocked(narrator: EventNarrator, event: Event) -> Described:
    awaited = text_of(event.data, "on") or "a message"
    return f"{narrator.node(event)} waits for {awaited}", "quiet"


def _node_checked(narrator: EventNarrator, event: Event) -> Described:
    checks = event.data.get("checks")
    ended = [one for one in checks if isinstance(one, dict)] if isinstance(checks, list) else []
    failed = [str(one.get("command", "")) for one in ended if one.get("exit_code") != 0]
    if failed:
        return _with(f"{len(failed)} of {len(ended)} checks failed", "; ".join(failed)), "bad"
    return f"{len(ended)} of {len(ended)} checks passed", "good"


def _thought(_narrator: EventNarrator, event: Event) -> Described:
    calls = event.data.get("calls")
    names = ", ".join(map(str, calls)) if isinstance(calls, list | tuple) else ""
    return _with("thought", text_of(event.data, "text") or names), "quiet"


def _no_sandbox(_narrator: EventNarrator, event: Event) -> Described:
    effect, advice = text_of(event.data, "effect"), text_of(event.data, "advice")
    text = f"{effect}: there is no sandbox, {text_of(event.data, 'why')}"
    return _with(text, advice, ". To fix it: "), "bad"


def _autorun(_narrator: EventNarrator, event: Event) -> Described:
    paths, more = event.data.get("paths"), event.data.get("more")
    named = ", ".join(map(str, paths)) if isinstance(paths, list) else ""
    rest = f" and {more} more" if more else ""
    programs = event.data.get("programs")
    by = " and ".join(map(str, programs)) if isinstance(programs, list) else ""
    return (
        f"look at these before you use {by or 'programs'} in {text_of(event.data, 'folder')}: "
        f"{named}{rest} (new, and programs run commands because of them)",
        "bad",
    )


def _outside_started(_narrator: EventNarrator, event: Event) -> Described:
    agent, number = text_of(event.data, "agent"), event.data.get("number")
    if number in (None, 1):
        return f"{agent} is started", "plain"
    how = (
        "its conversation continues"
        if text_of(event.data, "session")
        else "its conversation starts again"
    )
    return f"{agent} is started again (number {number}): {how}", "plain"


def _outside_ended(_narrator: EventNarrator, event: Event) -> Described:
    agent, problem = text_of(event.data, "agent"), text_of(event.data, "problem")
    if problem:
        return _with(f"{agent} failed", problem), "bad"
    return f"{agent} has exited", "quiet"


def is_plain_start(event: Event) -> bool:
    """Whether a process that is ready is nothing to tell: the first one, or one that was parked."""
    return event.data.get("incarnation") in (None, 1) or bool(event.data.get("was_parked"))


def _ready(_narrator: EventNarrator, event: Event) -> Described:
    if is_plain_start(event):
        return "woke up" if event.data.get("was_parked") else "its process is ready", "quiet"
    return "its process was restarted and continues where it was", "good"


def _expired(_narrator: EventNarrator, event: Event) -> Described:
    default = text_of(event.data, "default")
    then = f"; it goes on with: {default}" if default else ""
    return f"nobody answered in time: {text_of(event.data, 'question')}{then}", "bad"


def _budget_set(_narrator: EventNarrator, event: Event) -> Described:
    data = event.data
    if not data.get("is_own"):
        return "the budget is that of the settings again", "plain"
    units: tuple[Unit, ...] = ("usd", "tokens")
    limits = [
        shown(limit, unit) for unit in units if isinstance(limit := data.get(unit), int | float)
    ]
    per = "a day" if data.get("period") == "day" else "in all"
    whose = {"run": "of the run ", "trigger": "of the trigger "}.get(text_of(data, "scope"), "")
    return f"the budget {whose}is {' and '.join(limits) or 'without limit'} {per}", "plain"


def _retry(_narrator: EventNarrator, event: Event) -> Described:
    data = event.data
    attempt, most, wait = data.get("attempt"), data.get("attempts"), data.get("wait_seconds")
    when = f"again in {wait:.0f} s" if isinstance(wait, int | float) and wait >= 1 else "again now"
    if isinstance(attempt, int) and isinstance(most, int):
        when = f"{attempt + 1} of {most}, {when}"
    what = "waits: the service pauses" if attempt == 0 else "failed"
    return _with(f"the model call {what} ({when})", text_of(data, "message", "kind")), "bad"


def _callback_ended(_narrator: EventNarrator, event: Event) -> Described:
    failed = bool(event.data.get("is_error"))
    text = f"the command of trigger {text_of(event.data, 'name')}: {text_of(event.data, 'ended')}"
    return _with(text, text_of(event.data, "output")), "bad" if failed else "quiet"


def _earlier_work(_narrator: EventNarrator, event: Event) -> Described:
    notes = event.data.get("notes")
    titles = [
        one_line(str(one.get("title", "")), 60) for one in notes or () if isinstance(one, dict)
    ]
    count = f"{len(titles)} notes" if len(titles) != 1 else "1 note"
    return _with(f"is shown {count} from earlier work", "; ".join(titles)), "quiet"


class _Facts(dict[str, str]):
    """What a phrase may name; nothing for what the event does not have."""

    def __missing__(self, key: str) -> str:
        return ""


def _facts_of(narrator: EventNarrator, event: Event) -> _Facts:
    facts = _Facts({key: _fact(key, value) for key, value in event.data.items()})
    return _Facts(facts | {"node": narrator.node(event), "worker": narrator.worker(event)})


def _fact(key: str, value: object) -> str:
    if key in TIMES:
        return format_time(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def _phrase(
    phrase: str, *keys: str, tone: Tone = "plain", joint: str = ": "
) -> Callable[[EventNarrator, Event], Described]:
    """Return a describer of `phrase` and the first of `keys` that the event has.

    The phrase may name the event's {node}, its {worker}, and any value of its data.
    """

    def describe(narrator: EventNarrator, event: Event) -> Described:
        text = phrase.format_map(_facts_of(narrator, event)).rstrip()
        return _with(text, text_of(event.data, *keys), joint), tone

    return describe


_DESCRIBERS: dict[str, Callable[[EventNarrator, Event], Described]] = {
    "agent.created": _phrase("created", "goal"),
    "agent.started": _phrase("started", "model"),
    "agent.paused": _phrase("paused", tone="ask"),
    "agent.stepped": _phrase("does one step"),
    "agent.resumed": _phrase("resumed"),
    "agent.completed": _phrase("the goal is met", tone="good"),
    "agent.failed": _phrase("failed", "reason", "error", tone="bad"),
    "agent.reopened": _phrase("the run goes on"),
    "agent.standstill": _phrase("the run stands still", "text", tone="bad"),
    "agent.set_aside": _phrase("the agent is left out", "reason", tone="bad"),
    "agent.stopped": _phrase("stopped", "reason", tone="bad"),
    "agent.cycle_ended": _phrase("cycle {cycle} ended, the next is at {next_at}", "notes"),
    "agent.cycle_started": _phrase("cycle {cycle} began"),
    "stage.started": _phrase("stage opened", "name", "stage"),
    "stage.met": _phrase("stage {stage} ends early: {completed} of {of} nodes are completed"),
    "stage.reconvened": _phrase("the team reconvenes", "assessment"),
    "stage.completed": _phrase("stage completed", "name", "stage", tone="good"),
    "node.created": _phrase("new node {node}", "task"),
    "node.assigned": _phrase("node {node} is assigned to {worker}", tone="quiet"),
    "node.started": _phrase("works on {node}", "task"),
    "node.completed": _phrase("completed {node}", "summary", tone="good"),
    "node.failed": _phrase("failed {node}", "reason", tone="bad"),
    "node.retried": _phrase("{node} is tried again", "because", "reason"),
    "node.decided": _phrase("the conditions of {node} are decided", tone="quiet"),
    "node.skipped": _phrase("node {node} is skipped", "reason", tone="quiet"),
    "node.expanded": _phrase("{node} is done for each item", "copies"),
    "node.moved": _phrase("{node} goes to another worker", "to", "model", "because"),
    "node.released": _phrase("{node} is free for its next worker"),
    "node.checked": _node_checked,
    "node.blocked": _node_blocked,
    "node.unblocked": _phrase("continues with", "name", tone="quiet"),
    "team.turn": _phrase("to {to_role}", "message", tone="voice"),
    "node.deadlock": _phrase("nodes wait for each other", "text", tone="bad"),
    "node.cancelled": _phrase("node {node} is cancelled", "reason", tone="bad"),
    "node.checkpoint": _phrase("milestone", "summary"),
    "node.suggested": _phrase("suggests", "suggestion"),
    "worker.spawned": _phrase("new worker {worker}", "role", joint=", "),
    "worker.busy": _phrase("{worker} has a node", tone="quiet"),
    "worker.idle": _phrase("{worker} has no node", tone="quiet"),
    "worker.paused": _phrase("paused", tone="ask"),
    "worker.stepped": _phrase("does one step"),
    "worker.resumed": _phrase("resumed"),
    "worker.stopped": _phrase("worker {name} stopped", "reason", tone="quiet"),
    "outside.warning": _phrase("warning", "text", tone="ask"),
    "outside.started": _outside_started,
    "outside.ended": _outside_ended,
    "sandbox.missing": _no_sandbox,
    "sandbox.input_read_only": _phrase(
        "the input folder is read-only for commands", "why", tone="bad"
    ),
    "sandbox.autorun": _autorun,
    "entity.failed": _phrase("failed for good", "reason", "cause", tone="bad"),
    "entity.suspect": _phrase("does not respond", "step", tone="bad"),
    "entity.recovered": _phrase("responds again"),
    "child.ready": _ready,
    "child.crashed": _phrase("its process crashed", "cause", tone="bad"),
    "child.backing_off": _phrase("its process is restarted soon", tone="quiet"),
    "child.failed": _phrase("its process crashed too often", "cause", tone="bad"),
    "child.stopped": _phrase("its process is stopped", "cause", tone="quiet"),
    "child.exited": _phrase("its process exited", "cause", tone="quiet"),
    "child.moved": _phrase("moved from {from} to {to}"),
    "host.joined": _phrase("joined the home", "labels", tone="quiet"),
    "host.lost": _phrase("is lost: what ran there is started elsewhere", tone="bad"),
    "host.back": _phrase("can be reached again"),
    "service.backing_off": _phrase("is restarted soon", "cause", tone="bad"),
    "service.recovered": _phrase("is running again"),
    "tool.called": _tool_called,
    "tool.result": _tool_result,
    "tool.refused": _phrase("{tool} is not allowed", "reason", tone="bad"),
    "tool.missing": _phrase("works without some tools", "reason", tone="bad"),
    "tool.loop": _phrase("made one call {count} times, with the same result", "call", tone="bad"),
    "message.sent": _message,
    "message.received": _phrase("received a message from {from}", "content", tone="quiet"),
    "message.dead": _phrase("a message is a dead letter", "cause", tone="bad"),
    "human.question": _phrase("asks you", "question", tone="ask"),
    "human.response": _answered,
    "human.expired": _expired,
    "human.withdrawn": _phrase("a question is withdrawn", "question", tone="quiet"),
    "human.nudge": _phrase("instruction", "content", "message", tone="voice"),
    "human.attached": _phrase("attached", "path", tone="quiet"),
    "human.budget": _budget_set,
    "channel.dead": _phrase("channel {channel} did not take a notice", "reason", tone="bad"),
    "model.answered": _thought,
    "model.retry": _retry,
    "model.fallback": _phrase("falls back to another model", "to", tone="bad"),
    "model.failed": _phrase("the model call failed", "message", "kind", tone="bad"),
    "memory.written": _phrase("wrote to its memory", "path", tone="quiet"),
    "memory.insight": _phrase("offers to the memory", "insight", tone="quiet"),
    "memory.upkeep": _phrase("is asked to tidy the memory: {reasons}", tone="quiet"),
    "memory.compacted": _phrase(
        "its conversation was compacted: {tokens_before} tokens became {tokens_after}", tone="quiet"
    ),
    "context.written": _phrase("wrote {key} to the shared context", tone="quiet"),
    "context.used": _earlier_work,
    "context.unavailable": _phrase("goes on without the context database: {reason}", tone="quiet"),
    "worktree.made": _phrase("a git worktree for {node} is on branch {branch}", tone="quiet"),
    "worktree.merged": _phrase("the changes of {node} are merged", tone="good"),
    "worktree.conflict": _phrase("the changes of {node} are in conflict: {files}", tone="bad"),
    "worktree.off": _phrase("works without git worktrees", "reason", tone="bad"),
    "trigger.created": _phrase("new trigger {name}"),
    "trigger.paused": _phrase("trigger {name} is paused", "reason", tone="ask"),
    "trigger.resumed": _phrase("trigger {name} is resumed"),
    "trigger.cancelled": _phrase("trigger {name} is cancelled", "reason"),
    "trigger.fired": _phrase("trigger {name} fired, due at {due}", "about"),
    "trigger.done": _phrase("what trigger {name} asked for is done", tone="quiet"),
    "trigger.callback": _callback_ended,
    "events.deleted": _phrase("events {first} to {last} were deleted, as `retention` says"),
}
