"""TriggerSet: all triggers of one agent. Events and `now` are inputs, firings outputs; pure.

A firing is in `outbox` from its decision until its delivery, and its id follows from the trigger
and the occasion. So the owner stores the set, delivers the firings in the outbox, and delivers them
again after a crash: the receiver recognizes the id.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from agiraph.core.errors import Corrupt, IllegalTransition, unknown
from agiraph.core.ids import AgentId, derived_message_id
from agiraph.core.models import Event
from agiraph.core.record import Record
from agiraph.core.turns import JsonObject
from agiraph.storage.files import read_bytes
from agiraph.triggers.causality import Causality, Lineage, follow, is_activity
from agiraph.triggers.due import first_due, judge, next_due
from agiraph.triggers.parsing import OWN_EVENTS
from agiraph.triggers.records import (
    DelaySchedule,
    EventSchedule,
    HeartbeatSchedule,
    IdleSchedule,
    TimeSchedule,
    Trigger,
    TriggerAct,
    TriggerRun,
    TriggerSpec,
)

READ = ("message.received", "trigger.done")
ENDED_KEPT = 20
WAITING_SECONDS = 900.0
RATE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class FiringLimits:
    """Limits of firings.

    `late_seconds`: how late a firing may be for the policy `skip`. `per_minute`: the most firings
    of one `on_event` trigger within a minute.
    """

    late_seconds: float
    per_minute: int


class TriggerFile(Record):
    """The content of `triggers.json`: the triggers of an agent."""

    version: int = 1
    seen: int = 0
    causality: Causality = Causality()
    triggers: tuple[Trigger, ...] = ()
    outbox: tuple[TriggerRun, ...] = ()


@dataclass(slots=True)
class TriggerSet:
    """The triggers of one agent. `seen` is the seq of the last event that was applied."""

    agent: AgentId
    bounds: FiringLimits
    seen: int = 0
    causality: Causality = field(default_factory=Causality)
    triggers: dict[str, Trigger] = field(default_factory=dict)
    outbox: dict[str, TriggerRun] = field(default_factory=dict)

    # --- on disk ---------------------------------------------------------------------------------

    @classmethod
    def read(
        cls, agent: AgentId, text: str, bounds: FiringLimits, path: Path = Path("triggers.json")
    ) -> "TriggerSet":
        """Return the set in the text of `write`; '' or an older home's empty list is an empty set.

        Raises Corrupt, which names `path` if a newer version wrote it.
        """
        if text.strip() in ("", "[]"):
            return cls(agent, bounds)
        try:
            file = TriggerFile.model_validate_json(text)
        except ValueError as error:
            raise Corrupt(f"the triggers of agent '{agent}' cannot be read: {error}") from None
        triggers = {trigger.id: trigger for trigger in file.triggers}
        outbox = {firing.id: firing for firing in file.outbox}
        return cls(agent, bounds, file.seen, file.causality, triggers, outbox)

    def write(self) -> str:
        """Return the set as JSON text."""
        file = TriggerFile(
            seen=self.seen,
            causality=self.causality,
            triggers=tuple(self.triggers.values()),
            outbox=tuple(self.outbox.values()),
        )
        return file.model_dump_json(indent=2) + "\n"

    # --- requests ---------------------------------------------------------------------

    @property
    def is_watching(self) -> bool:
        """Whether any trigger may still fire."""
        return any(trigger.is_active for trigger in self.triggers.values())

    @property
    def is_listening(self) -> bool:
        """Whether an event may fire a trigger or start its time now.

        A heartbeat only counts events for its next due time.
        """
        return any(
            isinstance(trigger.schedule, EventSchedule)
            or (isinstance(trigger.schedule, IdleSchedule) and trigger.next_due is None)
            for trigger in self._active()
        )

    @property
    def next_waking(self) -> float | None:
        """The time at which a trigger will next let the agent act, None if no time is set.

        A heartbeat does so only after an event; a command does not.
        """
        due = [firing.due for firing in self.outbox.values()]
        due += [
            trigger.next_due
            for trigger in self._active()
            if trigger.next_due is not None
            and trigger.action.type != "run_callback"
            and (trigger.news or not isinstance(trigger.schedule, HeartbeatSchedule))
        ]
        return min(due, default=None)

    @property
    def next_due(self) -> float | None:
        """The earliest due time, None if no trigger has a set time."""
        return min((t.next_due for t in self._active() if t.next_due is not None), default=None)

    def find(self, named: str) -> Trigger:
        """Return a trigger by id, or a trigger that has not ended by name. Raises InvalidInput."""
        if named in self.triggers:
            return self.triggers[named]
        active = [t for t in self.triggers.values() if t.name == named and not t.has_ended]
        if len(active) == 1:
            return active[0]
        raise unknown("trigger", named, [f"{t.id} ({t.name})" for t in self.triggers.values()])

    def add(self, id: str, new: TriggerSpec, now: float) -> Trigger:
        """Add a trigger; a repeated request with the same id returns the existing trigger.

        The events logged so far must have been applied before, as they must not fire a new trigger.
        """
        if id in self.triggers:
            return self.triggers[id]
        trigger = Trigger(
            **dict(new),
            id=id,
            agent_id=self.agent,
            created_at=now,
            anchor=now,
            idle_since=now,
            next_due=first_due(new.schedule, now),
        )
        self.triggers[id] = trigger
        self._forget_old()
        return trigger

    def act(self, id: str, act: TriggerAct, now: float, *, cause: str, reason: str = "") -> Trigger:
        """Pause, resume, cancel or fire a trigger now, and return it.

        Raises IllegalTransition if it has ended. `cause` is the id of the requesting message: a
        repeated request fires once.
        """
        trigger = self.triggers[id]
        if act == "cancel" and trigger.status == "cancelled":
            return trigger
        if trigger.has_ended:
            raise IllegalTransition(f"trigger '{trigger.name}' ({id}) is {trigger.status} already")
        match act:
            case "pause":
                trigger = _with(trigger, status="paused", reason=reason)
            case "resume":
                trigger = self._resumed(trigger, now)
            case "cancel":
                trigger = _with(trigger, status="cancelled", reason=reason, next_due=None)
            case "fire":
                about = reason or "it was fired by hand"
                trigger = self._fire(trigger, f"hand.{cause}", now, now, (), about, is_extra=True)
                if isinstance(trigger.schedule, DelaySchedule | TimeSchedule):
                    trigger = _with(trigger, status="done", next_due=None)
        self.triggers[id] = trigger
        return trigger

    def delivered(self, firing: str) -> None:
        """Remove a firing from the outbox: the router has it."""
        self.outbox.pop(firing, None)

    def fired_at(self, firing: TriggerRun, now: float) -> float:
        """Return when a firing was decided, `now` if that is no longer known."""
        trigger = self.triggers.get(firing.trigger_id)
        if trigger is None or trigger.waiting != firing.id:
            return now
        return trigger.waiting_since

    def put_back(self) -> None:
        """Put each firing that wakes the agent and is not read yet back into the outbox.

        The mailbox of an archived agent is discarded. A coordinator recognizes firings that it has
        read.
        """
        for one in self.triggers.values():
            if one.waiting and one.action.type == "wake_agent":
                due = one.last_due or one.waiting_since
                firing = _firing(one, one.waiting, due, lineage=(one.id,))
                self.outbox.setdefault(firing.id, firing)

    # --- events ----------------------------------------------------------------------------------

    def apply(self, events: Iterable[Event], now: float) -> bool:
        """Apply events in order; return whether a trigger changed. Known events are skipped."""
        before = dict(self.triggers)
        for event in events:
            if event.seq > self.seen:
                self.seen = event.seq
                self.causality, lineage = follow(self.causality, event)
                self._apply_one(event, lineage, now)
        return self.triggers != before

    def _apply_one(self, event: Event, lineage: Lineage, now: float) -> None:
        read = event.data.get("firing") if event.type in READ else None
        counts = is_activity(event)
        for trigger in list(self._active()):
            if read and trigger.waiting == read:
                trigger = self.triggers[trigger.id] = _with(trigger, waiting="")
            if trigger.id in lineage:
                continue
            known = tuple(dict.fromkeys((*trigger.news_from, *lineage)))
            match trigger.schedule:
                case EventSchedule() as schedule if fits(schedule, event):
                    self.triggers[trigger.id] = self._on_event(trigger, event, lineage, now)
                case HeartbeatSchedule() if counts:
                    if not trigger.news or known != trigger.news_from:
                        self.triggers[trigger.id] = _with(trigger, news=True, news_from=known)
                case IdleSchedule(idle_seconds=seconds) if counts:
                    since = max(trigger.idle_since, event.ts)
                    changes = {"idle_since": since, "next_due": since + seconds}
                    self.triggers[trigger.id] = _with(trigger, news_from=known, **changes)
                case _:
                    pass

    def _on_event(self, trigger: Trigger, event: Event, lineage: Lineage, now: float) -> Trigger:
        """Return the trigger after an event that fires it; not if late or over the rate limit."""
        recent = tuple(at for at in trigger.recent if now - at < RATE_SECONDS)
        is_late = trigger.missed == "skip" and now - event.ts > self.bounds.late_seconds
        if is_late or len(recent) >= self.bounds.per_minute:
            return _with(trigger, skipped=trigger.skipped + 1, recent=recent)
        trigger = _with(trigger, recent=(*recent, now))
        return self._fire(trigger, f"event.{event.seq}", event.ts, now, lineage, event_text(event))

    # --- time ------------------------------------------------------------------------------------

    def tick(self, now: float) -> bool:
        """Fire the due triggers; return whether a trigger changed."""
        is_changed = False
        for trigger in list(self._active()):
            if trigger.next_due is not None and trigger.next_due <= now:
                self.triggers[trigger.id] = self._due(trigger, now)
                is_changed = True
        return is_changed

    def _due(self, trigger: Trigger, now: float) -> Trigger:
        match trigger.schedule:
            case HeartbeatSchedule() if not trigger.news:
                skipped = trigger.skipped + 1
                return _with(trigger, skipped=skipped, next_due=next_due(trigger, now))
            case IdleSchedule():
                fired = self._fire_due(trigger, (now,), 0, now)
                return _with(fired, next_due=None)
            case _:
                pass
        verdict = judge(trigger, now, self.bounds.late_seconds)
        if self._still_waits(trigger, now) and trigger.missed != "all":
            lost = len(verdict.fire) + verdict.let_go
            fired = _with(trigger, skipped=trigger.skipped + lost)
        else:
            fired = self._fire_due(trigger, verdict.fire, verdict.let_go, now)
        if isinstance(trigger.schedule, DelaySchedule | TimeSchedule):
            reason = "" if verdict.fire else "its time was missed"
            return _with(fired, status="done", reason=reason, next_due=None)
        return _with(fired, next_due=next_due(trigger, now))

    def _fire_due(
        self, trigger: Trigger, times: tuple[float, ...], let_go: int, now: float
    ) -> Trigger:
        trigger = _with(trigger, skipped=trigger.skipped + let_go)
        for due in times:
            is_last = due == times[-1]
            trigger = self._fire(
                trigger, f"due.{due!r}", due, now, trigger.news_from, "", let_go if is_last else 0
            )
        return trigger

    def _still_waits(self, trigger: Trigger, now: float) -> bool:
        """Whether the agent has not read the last firing: it is stopped, paused or busy."""
        return bool(trigger.waiting) and now - trigger.waiting_since < WAITING_SECONDS

    # --- firing ----------------------------------------------------------------------------------

    def _fire(
        self,
        trigger: Trigger,
        occasion: str,
        due: float,
        now: float,
        lineage: Lineage,
        about: str,
        missed: int = 0,
        *,
        is_extra: bool = False,
    ) -> Trigger:
        """Put one firing into the outbox; return the trigger after it."""
        id = derived_message_id(f"clock/{self.agent}", f"{trigger.id}.{occasion}").hex()
        led = tuple(dict.fromkeys((*lineage, trigger.id)))
        self.outbox[id] = _firing(trigger, id, due, missed=missed, lineage=led, about=about)
        is_read = trigger.action.type != "run_callback"
        return _with(
            trigger,
            fired=trigger.fired + 1,
            last_due=trigger.last_due if is_extra else due,
            last_fired_at=now,
            waiting=id if is_read else "",
            waiting_since=now,
            news=False,
            news_from=(),
        )

    def _resumed(self, trigger: Trigger, now: float) -> Trigger:
        """Return a paused trigger as active; due times during the pause do not count as missed."""
        if trigger.is_active:
            return trigger
        changes = {"status": "active", "reason": "", "waiting": ""}
        if isinstance(trigger.schedule, DelaySchedule | TimeSchedule):
            return _with(trigger, **changes)
        due = first_due(trigger.schedule, now)
        return _with(trigger, **changes, anchor=now, idle_since=now, next_due=due)

    def _active(self) -> Iterable[Trigger]:
        return [trigger for trigger in self.triggers.values() if trigger.is_active]

    def _forget_old(self) -> None:
        """Keep the last ended triggers only."""
        ended = [trigger.id for trigger in self.triggers.values() if trigger.has_ended]
        for id in ended[:-ENDED_KEPT]:
            del self.triggers[id]


def _firing(trigger: Trigger, id: str, due: float, **about: Any) -> TriggerRun:
    named = {"trigger_id": trigger.id, "name": trigger.name, "action": trigger.action}
    named |= {"created_by": trigger.created_by}
    return TriggerRun(id=id, due=due, **named, **about)


def _with(trigger: Trigger, **changes: object) -> Trigger:
    return trigger.model_copy(update=changes)


def load_triggers(path: Path, agent: AgentId) -> TriggerSet:
    """Return the triggers in an agent's file, to read only; an empty set if it is unreadable."""
    unused = FiringLimits(late_seconds=0, per_minute=1)
    try:
        return TriggerSet.read(agent, read_bytes(path).decode(), unused, path)
    except (OSError, Corrupt, UnicodeDecodeError):
        return TriggerSet(agent, unused)


def fits(schedule: EventSchedule, event: Event) -> bool:
    """Whether an event has the type and the facts for which a schedule waits."""
    if event.type.startswith(OWN_EVENTS) or not fnmatchcase(event.type, schedule.event_pattern):
        return False
    facts = facts_of(event)
    return all(_is(wanted, facts.get(key)) for key, wanted in schedule.filter.items())


def facts_of(event: Event) -> dict[str, tuple[Any, ...]]:
    """Return the facts that a filter may name, each with its possible values.

    A node is named by its id or its name, an entity by its name, and a message's receiver by `to`.
    """
    facts: dict[str, tuple[Any, ...]] = {key: (value,) for key, value in event.data.items()}
    entity = event.entity.rpartition("/")[2]
    facts["entity"] = (event.entity, entity)
    facts["node_id"] = (event.node_id, event.data.get("name"))
    facts["run_id"] = (event.run_id,)
    facts.setdefault("to", (entity,))
    return facts


def _is(wanted: Any, values: tuple[Any, ...] | None) -> bool:
    """Whether one of `values` equals `wanted`, or an item of the list `wanted`."""
    accepted = wanted if isinstance(wanted, list | tuple) else (wanted,)
    shown = {_shown(value) for value in values or () if value is not None}
    return any(_shown(one) in shown for one in accepted)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def event_text(event: Event) -> str:
    """Return an event as one line of text, for the agent that a trigger wakes."""
    facts: JsonObject = {"entity": event.entity, **event.data}
    shown = ", ".join(f"{key}: {str(value)[:200]}" for key, value in facts.items() if value)
    return f"{event.type} ({shown})"
