"""TriggeredAgent: an agent with triggers and a log of events, for tests."""

from typing import Any

from agiraph.core.ids import AgentId, NodeId
from agiraph.core.models import Event
from agiraph.triggers.parsing import parse_trigger
from agiraph.triggers.records import Trigger, TriggerRun
from agiraph.triggers.trigger_set import FiringLimits, TriggerSet

AGENT = AgentId("ada-1")
START = 1_750_000_000.0
BOUNDS = FiringLimits(late_seconds=60, per_minute=10)


class TriggeredAgent:
    """One agent with its triggers; `happens` appends an event to its log and applies it to the
    triggers."""

    def __init__(self) -> None:
        self.book = TriggerSet(AGENT, BOUNDS)
        self.now = START
        self._seq = 0
        self._number = 0

    def add(self, type_: str, action: Any = "look", **config: Any) -> Trigger:
        self._number += 1
        new = parse_trigger(
            type_, config, action, now=self.now, time_zone="UTC", callbacks=("backup",)
        )
        return self.book.add(f"t-{self._number}", new, self.now)

    def now_is(self, trigger: Trigger) -> Trigger:
        return self.book.triggers[trigger.id]

    def happens(
        self, type_: str, entity: str = "coordinator", node: str | None = None, **data: Any
    ) -> Event:
        self._seq += 1
        event = Event(
            type=type_,
            agent_id=AGENT,
            ts=self.now,
            entity=entity,
            node_id=NodeId(node) if node else None,
            data=data,
            seq=self._seq,
        )
        self.book.apply([event], self.now)
        return event

    def passes(self, seconds: float) -> list[TriggerRun]:
        """Let time pass; return the resulting firings, delivered."""
        self.now += seconds
        self.book.tick(self.now)
        return self.fired()

    def fired(self) -> list[TriggerRun]:
        """Return the firings since the last time, and deliver them."""
        firings = list(self.book.outbox.values())
        for firing in firings:
            self.book.delivered(firing.id)
        return firings

    def hears(self, firing: TriggerRun) -> None:
        told: dict[str, Any] = {
            "from": "trigger",
            "firing": firing.id,
            "lineage": list(firing.lineage),
        }
        self.happens("message.received", **told)

    def answers(self, *calls: str) -> None:
        """Let the coordinator's model answer with these calls and their results."""
        self.happens("model.answered", calls=list(calls))
        for call in calls:
            self.happens("tool.called", tool=call)
            self.happens("tool.result", tool=call, is_error=False)

    def thinks_about(self, firing: TriggerRun) -> None:
        """Let the coordinator hear a firing, do something, say something, and rest."""
        self.hears(firing)
        self.answers("bash")
        self.happens("model.answered", calls=[])
        self.happens("message.sent", **{"from": "coordinator", "to": "human"})
        self.happens("message.received", entity="human", **{"from": "coordinator"})
