"""The trigger input of people and models, checked and converted to records.

Every mistake is InvalidInput: it names the thing, the mistake and the possible values.
"""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any, get_args

from agiraph.core.clock import seconds_of
from agiraph.core.errors import InvalidInput, unknown
from agiraph.core.event_types import types_meant
from agiraph.core.turns import JsonObject, json_in
from agiraph.triggers.records import (
    SCHEDULES,
    ActionType,
    MissedPolicy,
    TriggerAction,
    TriggerSpec,
)
from agiraph.triggers.timetable import check_cron, moment_of, zone_named

NAME_LIMIT = 60
COMMON = ("missed", "name")
OWN_EVENTS = "trigger."


def parse_trigger(
    type_: str,
    config: JsonObject,
    action: Any,
    *,
    now: float,
    time_zone: str,
    callbacks: Collection[str],
    name: str = "",
    created_by: str = "",
) -> TriggerSpec:
    """Return the requested trigger. Raises InvalidInput.

    `time_zone` is the default time zone, `callbacks` the configured names.
    """
    if type_ not in SCHEDULES:
        raise unknown("trigger type", type_, list(SCHEDULES))
    if not isinstance(config, dict):
        raise InvalidInput(f"config of a '{type_}' trigger is an object, not {config!r}")
    known = [key for key in SCHEDULES[type_].model_fields if key in READERS]
    for key in config:
        if key not in (*known, *COMMON):
            raise unknown(f"key in the config of a '{type_}' trigger", key, [*known, *COMMON])
    values = {key: READERS[key](config, key, time_zone) for key in known}
    if type_ == "at_time":
        values["moment"] = _moment_after(now, values["at"], values["time_zone"])
    schedule = SCHEDULES[type_].model_validate(values)
    wanted = parse_action(action, callbacks)
    shown = (str(name or config.get("name") or "")).strip() or _name_for(wanted, type_)
    return TriggerSpec(
        name=shown[:NAME_LIMIT],
        schedule=schedule,
        action=wanted,
        missed=_missed(config.get("missed", "once")),
        created_by=created_by,
    )


def _moment_after(now: float, at: str, time_zone: str) -> float:
    moment = moment_of(at, time_zone)
    if moment <= now:
        shown = datetime.fromtimestamp(now, zone_named(time_zone)).isoformat(timespec="seconds")
        raise InvalidInput(f"at '{at}' is over: it is {shown} now ({time_zone})")
    return moment


def action_as_read(action: Any) -> Any:
    """Return an action as an object or text; JSON text of an object becomes that object.

    The rules of approvals.yaml judge this object or text.
    """
    is_object = isinstance(action, str) and action.strip().startswith("{")
    return json_in(action) if is_object else action


def action_of_worker(action: Any, name: str) -> Any:
    """Return an action that a worker requests: a text becomes a message to that worker."""
    if isinstance(action_as_read(action), str):
        return {"type": "send_message", "payload": {"to": name, "content": action}}
    return action


def parse_action(action: Any, callbacks: Collection[str] = ()) -> TriggerAction:
    """Return an action; plain text means `wake_agent` with that task."""
    action = action_as_read(action)
    if isinstance(action, str):
        action = {"type": "wake_agent", "payload": {"task": action}}
    if not isinstance(action, dict) or "type" not in action:
        raise InvalidInput("action is a text, or an object with `type` and `payload`")
    kind, payload = action["type"], action.get("payload") or {}
    if kind not in get_args(ActionType):
        raise unknown("action", str(kind), get_args(ActionType))
    if not isinstance(payload, dict):
        raise InvalidInput(f"payload of action '{kind}' is an object, not {payload!r}")
    wanted = {key: _text(payload, key, f"action '{kind}'") for key in PAYLOADS[kind]}
    for key in payload:
        if key not in PAYLOADS[kind]:
            raise unknown(f"key in the payload of '{kind}'", key, PAYLOADS[kind])
    if kind == "run_callback" and wanted["callback"] not in callbacks:
        raise unknown("callback", wanted["callback"], list(callbacks))
    return TriggerAction(type=kind, payload=wanted)


# --- the values of a config ----------------------------------------------------------------------


def _text_of(config: JsonObject, key: str, time_zone: str) -> str:
    return _text(config, key, "config")


def _cron(config: JsonObject, key: str, time_zone: str) -> str:
    cron = _text(config, key, "config")
    check_cron(cron)
    return cron


def _zone(config: JsonObject, key: str, time_zone: str) -> str:
    named = str(config.get(key) or time_zone)
    zone_named(named)
    return named


def _seconds(config: JsonObject, key: str, time_zone: str) -> float:
    if key not in config:
        raise InvalidInput(f"config needs '{key}' (seconds, or as 30s, 5m, 1h30m, 2d)")
    return seconds_of(config[key], key)


def _pattern(config: JsonObject, key: str, time_zone: str) -> str:
    pattern = _text(config, key, "config")
    if pattern.startswith(OWN_EVENTS):
        raise InvalidInput(f"{key} '{pattern}': a trigger cannot wait for triggers")
    types_meant([pattern])
    return pattern


def _filter(config: JsonObject, key: str, time_zone: str) -> JsonObject:
    wanted = config.get(key) or {}
    if not isinstance(wanted, dict):
        raise InvalidInput(f"{key} is an object of key and value, not {wanted!r}")
    return wanted


READERS: dict[str, Callable[[JsonObject, str, str], Any]] = {
    "cron": _cron,
    "at": _text_of,
    "time_zone": _zone,
    "delay_seconds": _seconds,
    "interval_seconds": _seconds,
    "idle_seconds": _seconds,
    "event_pattern": _pattern,
    "filter": _filter,
}
PAYLOADS: dict[str, tuple[str, ...]] = {
    "wake_agent": ("task",),
    "run_node": ("node_id",),
    "send_message": ("to", "content"),
    "run_callback": ("callback",),
}


def _text(values: JsonObject, key: str, where: str) -> str:
    value = values.get(key)
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{where} needs '{key}', a text")
    return value.strip()


def _missed(value: Any) -> MissedPolicy:
    if value not in get_args(MissedPolicy):
        raise unknown("policy for missed firings", str(value), get_args(MissedPolicy))
    policy: MissedPolicy = value
    return policy


def _name_for(action: TriggerAction, type_: str) -> str:
    """Return a name for a trigger: the first words of its task, or its action."""
    said = str(action.payload.get("task") or action.payload.get("content") or "")
    words = " ".join(said.split()[:6])
    return words or " ".join([action.type, *map(str, action.payload.values())]) or type_
