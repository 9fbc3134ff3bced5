"""Whether an event is one that an `on_event` trigger waits for."""

from fnmatch import fnmatchcase
from typing import Any

from agiraph.core.models import Event
from agiraph.core.turns import JsonObject
from agiraph.triggers.parsing import OWN_EVENTS
from agiraph.triggers.records import EventSchedule


def fits(schedule: EventSchedule, event: Event) -> bool:
    """Whether type and filter fit; `*` in the pattern stands for anything."""
    if event.type.startswith(OWN_EVENTS) or not fnmatchcase(event.type, schedule.event_pattern):
        return False
    facts = facts_of(event)
    return all(_is(wanted, facts.get(key)) for key, wanted in schedule.filter.items())


def facts_of(event: Event) -> dict[str, tuple[Any, ...]]:
    """Return what a filter may name, each with the values that it may have.

    A node goes by its id or its name, an entity by its name, and who received a message is `to`.
    """
    facts: dict[str, tuple[Any, ...]] = {key: (value,) for key, value in event.data.items()}
    entity = event.entity.rpartition("/")[2]
    facts["entity"] = (event.entity, entity)
    facts["node_id"] = (event.node_id, event.data.get("name"))
    facts["run_id"] = (event.run_id,)
    facts.setdefault("to", (entity,))
    return facts


def _is(wanted: Any, values: tuple[Any, ...] | None) -> bool:
    """Whether one of the values is the wanted one, or one of the wanted ones if it is a list."""
    accepted = wanted if isinstance(wanted, list | tuple) else (wanted,)
    shown = {_shown(value) for value in values or () if value is not None}
    return any(_shown(one) in shown for one in accepted)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def told(event: Event) -> str:
    """Return an event as one line for the one who is woken by it."""
    facts: JsonObject = {"entity": event.entity, **event.data}
    shown = ", ".join(f"{key}: {str(value)[:200]}" for key, value in facts.items() if value)
    return f"{event.type} ({shown})"
