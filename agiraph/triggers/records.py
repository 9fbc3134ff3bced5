"""A trigger, its six kinds of schedule, its action, and one firing of it.

Times are seconds since the epoch. Nothing is validated here: `parsing` does that.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from pydantic import Field

from agiraph.core.ids import HUMAN_NAME, AgentId, short_derived_id
from agiraph.core.record import Record
from agiraph.core.turns import JsonObject

TriggerType = Literal["scheduled", "delayed", "at_time", "heartbeat", "on_event", "on_idle"]
TriggerStatus = Literal["active", "paused", "done", "cancelled"]
MissedPolicy = Literal["once", "skip", "all"]
ActionType = Literal["wake_agent", "run_node", "send_message", "run_callback"]
TriggerAct = Literal["pause", "resume", "cancel", "fire"]

SHOWN = (
    *("id", "name", "status", "reason", "missed", "next_due", "last_due", "last_fired_at"),
    *("fired", "skipped", "created_at", "created_by"),
)
"""The fields of a trigger that tools, the API and people see unchanged."""
ENDED: frozenset[TriggerStatus] = frozenset({"done", "cancelled"})


def trigger_id(message: bytes) -> str:
    """Return the id of the trigger that a message creates: the same message gives the same id."""
    return f"t-{short_derived_id(message.hex())}"


class CronSchedule(Record):
    """By a cron expression of five fields, read in an IANA time zone."""

    type: Literal["scheduled"] = "scheduled"
    cron: str
    time_zone: str


class DelaySchedule(Record):
    """Once, this many seconds after its creation."""

    type: Literal["delayed"] = "delayed"
    delay_seconds: float


class TimeSchedule(Record):
    """Once, at a time on the wall clock; `moment` is that time in seconds since the epoch."""

    type: Literal["at_time"] = "at_time"
    at: str
    time_zone: str
    moment: float


class HeartbeatSchedule(Record):
    """Every `interval_seconds`, but only after an event since the last time."""

    type: Literal["heartbeat"] = "heartbeat"
    interval_seconds: float


class EventSchedule(Record):
    """At each event whose type matches `event_pattern` and whose facts match `filter`."""

    type: Literal["on_event"] = "on_event"
    event_pattern: str
    filter: JsonObject = Field(default_factory=dict)


class IdleSchedule(Record):
    """When the agent had no event for `idle_seconds`; once for each such silence."""

    type: Literal["on_idle"] = "on_idle"
    idle_seconds: float


Schedule = Annotated[
    CronSchedule | DelaySchedule | TimeSchedule | HeartbeatSchedule | EventSchedule | IdleSchedule,
    Field(discriminator="type"),
]


SCHEDULES: Mapping[str, type[Schedule]] = {
    one.model_fields["type"].default: one for one in get_args(get_args(Schedule)[0])
}


class TriggerAction(Record):
    """The action of a trigger: its `type` and `payload`.

    `wake_agent` {task}, `send_message` {to, content}, `run_node` {node_id}, `run_callback`
    {callback}.
    """

    type: ActionType
    payload: JsonObject = Field(default_factory=dict)


class TriggerSpec(Record):
    """A trigger as requested."""

    name: str
    schedule: Schedule
    action: TriggerAction
    missed: MissedPolicy = "once"
    created_by: str = ""


class Trigger(TriggerSpec):
    """One trigger and its state.

    `anchor` is the time from which its due times are counted: its creation, or its last resumption.
    `skipped` counts the occasions without a firing: quiet heartbeats, missed times, events over the
    rate. `waiting` is the firing that its agent has not read yet. `news` (of `heartbeat`): there
    was an event since the last beat; `idle_since` (of `on_idle`) is the time of the last event.
    `news_from` (of both) are the triggers that caused the event.
    """

    id: str
    agent_id: AgentId
    status: TriggerStatus = "active"
    reason: str = ""
    created_at: float
    anchor: float
    next_due: float | None = None
    last_due: float | None = None
    last_fired_at: float | None = None
    fired: int = 0
    skipped: int = 0
    waiting: str = ""
    waiting_since: float = 0.0
    news: bool = False
    news_from: tuple[str, ...] = ()
    idle_since: float = 0.0
    recent: tuple[float, ...] = ()

    @property
    def is_active(self) -> bool:
        """Whether it may fire by itself."""
        return self.status == "active"

    @property
    def has_ended(self) -> bool:
        """Whether it will never fire again."""
        return self.status in ENDED


class FiringDetails(Record):
    """The cause of a firing.

    `missed` counts further due times that the firing replaces. `lineage` are the triggers that led
    to it, its own included. `about` is a description of the cause, `created_by` the name of the
    entity or person that created the trigger.
    """

    trigger_id: str
    name: str
    due: float
    missed: int = 0
    lineage: tuple[str, ...] = ()
    about: str = ""
    created_by: str = ""

    @property
    def is_of_team(self) -> bool:
        """Whether an entity of the team created the trigger: then the person's rules judge it."""
        return self.created_by not in ("", HUMAN_NAME)


class TriggerRun(FiringDetails):
    """One firing: a single execution of a trigger's action.

    `id` follows from the trigger and the occasion, so an occasion fires once despite any crash.
    """

    id: str
    action: TriggerAction


def trigger_view(trigger: Trigger) -> JsonObject:
    """Return {"id", "name", "type", "config", "action", "status", "next_due", ...}."""
    schedule = trigger.schedule.model_dump(mode="json")
    facts = trigger.model_dump(mode="json")
    return {
        "id": trigger.id,
        "agent": trigger.agent_id,
        "type": schedule.pop("type"),
        "config": schedule,
        "action": facts["action"],
        **{key: facts[key] for key in SHOWN},
    }
