"""The progress of a run, from its events: who works on what, tokens, cost, and what to show."""

from dataclasses import dataclass, field
from typing import Final, Literal

from agiraph.core.ids import HUMAN_NAME
from agiraph.core.models import Event
from agiraph.core.turns import Usage
from cli.console.event_text import EventLine, EventNarrator, text_of
from cli.formats import format_seconds, format_usage
from cli.sanitize import one_line

MESSAGE_LIMIT: Final = 200
# Calls that have a line of their own: the message, the node, the worker, the question itself.
SHOWN_OTHERWISE: Final = frozenset(
    {
        *("send_message", "ask_human", "create_work_node", "spawn_worker"),
        *("publish", "reconvene", "finish"),
    }
)
BUDGET_KINDS: Final = ("out_of_budget", "no_credit")
ENDINGS: Final[dict[str, Literal["completed", "failed", "stopped"]]] = {
    "agent.completed": "completed",
    "agent.failed": "failed",
    "agent.stopped": "stopped",
}
WHOLE: Final = frozenset({"agent.failed", "stage.reconvened", "outside.warning"})


@dataclass(slots=True)
class RunProgress:
    """The fold of the events seen so far; with `shows_all` each of them has a line."""

    shows_all: bool = False
    narrator: EventNarrator = field(default_factory=EventNarrator)
    usage: Usage = field(default_factory=Usage)
    working: dict[str, str] = field(default_factory=dict)
    is_out_of_budget: bool = False
    ended_as: Literal["completed", "failed", "stopped"] | None = None
    failure: str = ""

    def see(self, event: Event) -> EventLine | None:
        """Add one event; return the line to show for it, if any."""
        narrator = self.narrator
        line = (narrator.describe if self.shows_all else narrator.describe_if_major)(event)
        self._count(event)
        self._follow_work(event)
        if self.shows_all:
            return line
        if line is None or event.type == "human.question":
            return None
        if event.type == "tool.called" and text_of(event.data, "tool") in SHOWN_OTHERWISE:
            return None
        return line if _is_for_the_human(event) else _shortened(line)

    def _count(self, event: Event) -> None:
        # One that uses an account of its own is in no ledger, so it is not counted here either.
        is_metered = event.type == "outside.ended" and event.data.get("account") == "door"
        if event.type == "model.answered" or is_metered:
            self.usage = self.usage + Usage.model_validate(event.data)
        if event.type in ENDINGS:
            self.ended_as = ENDINGS[event.type]
            self.failure = text_of(event.data, "reason")
        if event.type in ("agent.failed", "node.failed"):
            reason = text_of(event.data, "reason")
            self.is_out_of_budget |= is_about_budget(reason)

    def _follow_work(self, event: Event) -> None:
        narrator = self.narrator
        if event.type == "node.started":
            worker = narrator.worker(event) or narrator.who(event)
            self.working[event.node_id or narrator.node(event)] = (
                f"{worker}: {narrator.node(event)}"
            )
        if event.type in ("node.completed", "node.failed", "node.cancelled"):
            self.working.pop(event.node_id or narrator.node(event), None)

    def status(self, seconds: float) -> str:
        """Return the progress in one line."""
        who = ", ".join(self.working.values()) or "the coordinator is thinking"
        return f"{format_seconds(seconds)} · {format_usage(self.usage)} · {who}"


def is_about_budget(reason: str) -> bool:
    """Whether a node or a run that failed for this reason lacked budget."""
    return any(kind in reason for kind in BUDGET_KINDS)


def _is_for_the_human(event: Event) -> bool:
    if event.type == "message.sent":
        return text_of(event.data, "to_name", "to").lower() == HUMAN_NAME
    return event.type in WHOLE


def _shortened(line: EventLine) -> EventLine:
    return EventLine(line.who, one_line(line.text, MESSAGE_LIMIT), line.tone)
