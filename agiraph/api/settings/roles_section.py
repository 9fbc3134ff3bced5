"""Writes `agentic_team` of agents.yaml for the Studio: only differences; comments stay."""

from collections.abc import Iterator
from typing import Any, Final

from agiraph.api.settings.editing import CONFLICT, save
from agiraph.api.settings.store import SettingsStore
from agiraph.api.settings.values import values_in
from agiraph.core.errors import InvalidInput
from agiraph.core.roles import DEFAULT_ROLES, SECTION, Role, RoleTeamSpec, default_role, roles_of
from agiraph.http.api import ApiError, EditSettingsRequest, SettingChange
from agiraph.storage.home import Home

AGENTS_FILE: Final = "agents.yaml"
BOUNDS: Final = ("lead_role", "max_turns", "repetitions", "transcript_turns")


def save_roles(home: Home, wanted: RoleTeamSpec, if_match: str | None) -> str:
    """Write the team unless it is unchanged; return the etag of the file.

    Raises ApiError: 409 if the file is unreadable, 412 if it was changed meanwhile, 428 without an
    etag, 422 if the result would be invalid.
    """
    try:
        stored = SettingsStore(home).read(AGENTS_FILE)
    except InvalidInput as error:
        raise ApiError(CONFLICT, str(error)) from None
    changes = section_changes(values_in(AGENTS_FILE, stored.text).get(SECTION), wanted)
    if not changes:
        return stored.etag
    return save(home, AGENTS_FILE, EditSettingsRequest(changes=changes), if_match).etag


def section_changes(said: object, wanted: RoleTeamSpec) -> tuple[SettingChange, ...]:
    """Return the changes that turn the section `said` (None: missing) into the team `wanted`."""
    try:
        before = roles_of(said or {})
    except InvalidInput:  # an unreadable section is replaced as a whole
        return (SettingChange(key=(SECTION,), value=_whole(wanted)),)
    own = said if isinstance(said, dict) else {}
    roles = own.get("roles") or {}
    gone = (name for name in roles if name not in wanted.roles)
    return (
        *_of_bounds(before, wanted),
        *(_removal("roles", name) for name in gone),
        *(
            change
            for name, role in wanted.roles.items()
            for change in _of_role(name, before.roles.get(name), role)
        ),
    )


def _whole(wanted: RoleTeamSpec) -> dict[str, Any]:
    roles = {name: _own(name, role) for name, role in wanted.roles.items()}
    kept = {name: own for name, own in roles.items() if own}
    bounds = {name: getattr(wanted, name) for name in BOUNDS}
    return bounds | ({"roles": kept} if kept else {})


def _of_bounds(before: RoleTeamSpec, wanted: RoleTeamSpec) -> Iterator[SettingChange]:
    for name in BOUNDS:
        value = getattr(wanted, name)
        if value != getattr(before, name):
            is_default = value == RoleTeamSpec.model_fields[name].default
            yield _removal(name) if is_default else _value(value, name)


def _of_role(name: str, before: Role | None, wanted: Role) -> Iterator[SettingChange]:
    if before is None:
        yield _value(_own(name, wanted), "roles", name)
        return
    default, is_ours = default_role(name), name in DEFAULT_ROLES
    for field, value in wanted:
        if value == getattr(before, field):
            continue
        # The last field of an added role stays: without it the role would be removed.
        is_left_out = is_ours and value == getattr(default, field)
        place = ("roles", name, field)
        yield _removal(*place) if is_left_out else _value(value, *place)


def _own(name: str, role: Role) -> dict[str, Any]:
    """Return the fields in which a role differs from its default.

    A new role has at least a title.
    """
    default = default_role(name)
    own = {field: value for field, value in role if value != getattr(default, field)}
    return own or ({"title": role.title} if name not in DEFAULT_ROLES else {})


def _value(value: object, *key: str) -> SettingChange:
    return SettingChange.model_validate({"key": (SECTION, *key), "value": value})


def _removal(*key: str) -> SettingChange:
    return SettingChange(key=(SECTION, *key), remove=True)
