"""The progress of a run, from its events: current work, tokens, cost, and the lines to show."""

from dataclasses import dataclass, field, replace
from typing import Final

from agiraph.core.ids import HUMAN_NAME
from agiraph.core.models import AgentEnding
from agiraph.core.roles import USER
from agiraph.core.turns import Usage
from agiraph.http.api import EventView
from agiraph.logs.event_text import autorun_marks
from agiraph.roles.engine import RoleTurn, edges_of
from cli.console.event_text import EventLine, line_of, text_of
from cli.output.formats import format_seconds, format_usage
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
ENDINGS: Final[dict[str, AgentEnding]] = {
    "agent.completed": "completed",
    "agent.failed": "failed",
    "agent.stopped": "stopped",
}
WHOLE: Final = frozenset({"stage.reconvened", "outside.warning"})
# The command itself prints the goal first, and the end with its reason last.
TOLD_OTHERWISE: Final = (
    *("human.question", "agent.created", "agent.failed", "agent.stopped"),
    "message.notice",  # goal and assignments again: nodes have their own lines
)
ENDS_A_NODE = ("node.completed", "node.failed", "node.cancelled", "node.skipped", "node.expanded")


@dataclass(slots=True)
class RunProgress:
    """The progress of a run, from its events so far; with `shows_all` every event has a line.

    `has_roles`: a team of roles works, whose turns have lines instead of its nodes.
    """

    shows_all: bool = False
    has_roles: bool = False
    usage: Usage = field(default_factory=Usage)
    working: dict[str, str] = field(default_factory=dict)
    is_out_of_budget: bool = False
    ended_as: AgentEnding | None = None
    failure: str = ""
    has_ended: dict[str, bool] = field(default_factory=dict)
    retries: dict[str, str] = field(default_factory=dict)
    turns: dict[int, RoleTurn] = field(default_factory=dict)
    autorun: set[tuple[str, str]] = field(default_factory=set)
    """The autorun files that events have named, with their marks."""

    def see(self, event: EventView) -> EventLine | None:
        """Add one event; return the line to show for it, if any."""
        line = line_of(event) if self.shows_all or event.audience != "log" else None
        self._count(event)
        self._follow_work(event)
        is_first = self._is_first_failure(event, line)
        if self.shows_all:
            return line
        if line is None or not is_first or self._is_shown_otherwise(event):
            return None
        if event.type == "agent.completed":  # the command prints the result itself
            return replace(line, text=event.text)
        is_whole = _is_for_the_human(event) or line.tone == "bad"
        return line if is_whole else _shortened(line)

    def _is_shown_otherwise(self, event: EventView) -> bool:
        match event.type:
            case "tool.called":
                return text_of(event.data, "tool") in SHOWN_OTHERWISE
            case "message.sent":
                return bool(self.failure) and text_of(event.data, "content") == self.failure
            case "node.created" | "node.completed" if self.has_roles:
                from agiraph.board.commands import OF_ROLES
                from agiraph.roles.on_board import turn_number  # few runs are a team's

                name = text_of(event.data, "name")
                return turn_number(f"{OF_ROLES}{name}") is not None
            case kind:
                return kind in TOLD_OTHERWISE

    def _is_first_failure(self, event: EventView, line: EventLine | None) -> bool:
        """Record the retries of model calls; return False for all but the first of a call."""
        who = event.entity or ""
        if event.type == "model.retry" and line is not None:
            is_first = who not in self.retries
            self.retries[who] = f"{line.who}: {line.text}"
            return is_first
        if event.type.startswith(("model.", "child.", "tool.")):
            self.retries.pop(who, None)
        return True

    def _count(self, event: EventView) -> None:
        # An agent with its own account is in no ledger, so it is not counted here either.
        is_metered = event.type == "outside.ended" and event.data.get("account") == "door"
        if event.type == "model.answered" or is_metered:
            self.usage = self.usage + Usage.model_validate(event.data)
        if event.type == "agent.reopened":
            self.ended_as, self.failure, self.is_out_of_budget = None, "", False
        self.autorun |= autorun_marks(event.type, event.data)
        if event.type == "role.turn":
            turn = RoleTurn.model_validate(event.data)
            self.turns[turn.turn] = turn
        if event.type in ENDINGS:
            self.ended_as = ENDINGS[event.type]
            self.failure = text_of(event.data, "reason")
        if event.type in ("agent.failed", "node.failed"):
            reason = text_of(event.data, "reason")
            self.is_out_of_budget |= is_about_budget(reason)

    def _follow_work(self, event: EventView) -> None:
        name = text_of(event.data, "name")
        node = event.node_id or name
        if event.type in ("node.created", "node.started", "node.retried"):
            self.has_ended[node] = False
        if event.type == "node.started":
            self.working[node] = f"{event.who}: {name}"
        if event.type in ENDS_A_NODE:
            self.working.pop(node, None)
            self.has_ended[node] = True

    def status(self, seconds: float, coordinator: str = "") -> str:
        """Return the progress in one line, the most important part first.

        `coordinator` is the coordinator's own activity; it is shown while no node is running.
        """
        parts = [format_seconds(seconds), format_usage(self.usage)]
        if self.has_ended:
            parts.append(f"{sum(self.has_ended.values())} of {len(self.has_ended)} nodes")
        who = ", ".join((*self.retries.values(), *self.working.values()))
        if not who:
            who = f"coordinator: {one_line(coordinator)}" if coordinator else "no node is running"
        return " · ".join((*parts, who))

    def talk(self) -> list[str]:
        """Return a table of the messages between a team's roles, and the next role."""
        turns = [self.turns[number] for number in sorted(self.turns)]
        if not turns:
            return []
        edges = edges_of(turns)
        sender = max(len(edge.from_role) for edge in edges)
        receiver = max(len(edge.to_role) for edge in edges)
        rows = [
            f"{edge.from_role:<{sender}} -> {edge.to_role:<{receiver}}  "
            + ("finalize" if edge.action == "finalize" else f"{edge.count}x")
            + ("  <- the last" if edge.latest else "")
            for edge in edges
        ]
        next_role = turns[-1].to_role
        return rows if next_role == USER else [*rows, f"turn {len(turns) + 1}: {next_role}"]


def is_about_budget(reason: str) -> bool:
    """Whether a node or a run that failed for this reason lacked budget."""
    return any(kind in reason for kind in BUDGET_KINDS)


def _is_for_the_human(event: EventView) -> bool:
    if event.type == "message.sent":
        return text_of(event.data, "to_name", "to").lower() == HUMAN_NAME
    return event.type in WHOLE


def _shortened(line: EventLine) -> EventLine:
    return EventLine(line.who, one_line(line.text, MESSAGE_LIMIT), line.tone, fits=True)
