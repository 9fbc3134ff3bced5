"""The environment of a child: built from a list; each key goes only to the process that uses it."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from agiraph.settings.variables import (
    ADDRESS_SUFFIX,
    CERTIFICATE_VARIABLES,
    GIT_COMMAND_VARIABLES,
    GIT_CONFIGURATION_VARIABLES,
    KEY_SUFFIXES,
    variables_in,
)
from agiraph.tools.web.key_names import KEY_NAMES as SEARCH_KEYS

NONE: Mapping[str, Any] = MappingProxyType({})
PLAIN = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR"),
        *("XDG_RUNTIME_DIR", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"),
        *("PYTHONPYCACHEPREFIX", "PYTHONWARNINGS"),
        *CERTIFICATE_VARIABLES,
        *GIT_CONFIGURATION_VARIABLES,
        *GIT_COMMAND_VARIABLES,
    }
)
PLAIN_PREFIXES = ("LC_", "AGIRAPH_")
PASSWORD = re.compile("//[^/?#]*@")
PROXY_NAMES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"})
BROKER_NAMES = frozenset({"OPENAI_ORG_ID", "OPENAI_PROJECT_ID"})
SECRET_SUFFIXES = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
BROKER_KIND = "broker"
WEB_KIND = "web"
HUMAN_KIND = "human"
TOOLS_KIND = "tools"
TRACER_KIND = "tracer"
OTEL_PREFIX = "OTEL_"
SCREEN_NAMES = frozenset({"DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY"})
KEY_HOLDERS = frozenset({BROKER_KIND, WEB_KIND, TRACER_KIND, TOOLS_KIND})


def naming_settings(kind: str, address: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings that name variables which only this process may see.

    The person's gateway has its channels, a host of tools its one server.
    """
    if kind == HUMAN_KIND:
        channels: Mapping[str, Any] = config.get("channels", NONE)
        return channels
    if kind == TOOLS_KIND:
        name = address.rpartition("/")[2]
        return {name: config.get("mcp", NONE).get("servers", NONE).get(name, NONE)}
    return NONE


def environment_for(
    kind: str, environ: Mapping[str, str], settings: Mapping[str, Any] = NONE
) -> dict[str, str]:
    """Return the variables of `environ` that a process of this kind may see.

    Provider keys and addresses reach the broker only, keys of search services the web process only;
    a variable that is named like a secret reaches no other process, even if it begins with
    AGIRAPH_. The person's gateway sees the variables that its channels name, and the address of the
    person's screen; a host of tools the variables that its server names. `settings` come from
    `naming_settings`.
    """
    seen = {name: value for name, value in environ.items() if _may_see(kind, name)}
    if kind in (HUMAN_KIND, TOOLS_KIND) and settings:
        screen = SCREEN_NAMES if kind == HUMAN_KIND else frozenset[str]()
        wanted = screen | variables_in(settings)
        seen |= {name: value for name, value in environ.items() if name in wanted}
    return seen


def holds_secrets(kind: str, settings: Mapping[str, Any]) -> bool:
    """Whether a process of this kind gets variables that no other process should read."""
    return kind == HUMAN_KIND and bool(variables_in(settings))


def secret_names(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of set variables that are given to one kind of process only."""
    return tuple(
        sorted(
            name
            for name, value in environ.items()
            if value
            and (name in SEARCH_KEYS or name.endswith((*SECRET_SUFFIXES, "_AUTH_TOKEN")))
            and not name.startswith("AGIRAPH_")
        )
    )


def addresses_in(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the addresses of providers that are set, by their variables, without passwords."""
    return {
        name: PASSWORD.sub("//", value)
        for name, value in environ.items()
        if value and name.endswith(ADDRESS_SUFFIX)
    }


def _may_see(kind: str, name: str) -> bool:
    if name.startswith(OTEL_PREFIX):
        return kind == TRACER_KIND
    if name in SEARCH_KEYS:
        return kind == WEB_KIND
    if kind in KEY_HOLDERS and name.upper() in PROXY_NAMES:
        return True
    if kind == BROKER_KIND and (name.upper() in BROKER_NAMES or name.endswith(KEY_SUFFIXES)):
        return True
    if name.endswith((*SECRET_SUFFIXES, *KEY_SUFFIXES)):
        return False
    return name in PLAIN or name.startswith(PLAIN_PREFIXES)
