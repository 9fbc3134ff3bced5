"""Triggers: what an agent waits for and what happens then."""

from pydantic import Field

from agiraph.core.ids import AgentId
from agiraph.http.api.base import ApiRequest, ApiView, JsonObject
from agiraph.triggers.records import MissedPolicy, TriggerStatus, TriggerType


class CreateTriggerRequest(ApiRequest):
    """POST /agents/{a}/triggers. `action` is a text that the agent is told, or an object of `type`
    and `payload`; `config` is the type's own, as docs/triggers.md has them.
    """

    type: TriggerType
    config: JsonObject = Field(default_factory=dict)
    action: str | JsonObject
    name: str = ""


class TriggerView(ApiView):
    """A trigger: what it waits for (`type`, `config`), what it does (`action`), how it stands.

    `skipped` counts what did not fire: quiet heartbeats, missed times, events over the rate.
    """

    id: str
    agent: AgentId
    name: str
    type: TriggerType
    config: JsonObject
    action: JsonObject
    status: TriggerStatus
    reason: str = ""
    missed: MissedPolicy = "once"
    next_due: float | None = None
    last_due: float | None = None
    last_fired_at: float | None = None
    fired: int = 0
    skipped: int = 0
    created_at: float
    created_by: str = ""
