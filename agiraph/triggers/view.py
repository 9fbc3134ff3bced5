"""A trigger as tools, the API and people see it."""

from agiraph.core.turns import JsonObject
from agiraph.triggers.records import Trigger

SHOWN = (
    *("id", "name", "status", "reason", "missed", "next_due", "last_due", "last_fired_at"),
    *("fired", "skipped", "created_at", "created_by"),
)


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
