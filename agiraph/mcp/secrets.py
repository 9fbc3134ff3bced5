"""The values behind `${NAME}` in a server's settings: the environment, or a file only we may read.

The file, `{home}/system/secrets.env`, holds `NAME=value` lines; the environment counts before it.
"""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.mcp_settings import McpServerConfig
from agiraph.core.redaction import BLOT, SECRET_NAME
from agiraph.core.variables import VARIABLE, variables_in

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SHORTEST_SECRET = 6
"""Shorter values are words that stand in harmless texts, too."""


class MissingServerVariable(Refused):
    """A server names a variable that nobody has set."""


def read_secrets(file: Path) -> dict[str, str]:
    """Return what the file of secrets says, nothing if there is none; raises InvalidInput."""
    try:
        with open(file, encoding="utf-8") as opened:  # plain: written by the person
            mode = stat.S_IMODE(os.fstat(opened.fileno()).st_mode)
            lines = opened.read().splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file}: cannot be read ({error})") from None
    if mode & 0o077:
        raise InvalidInput(f"{file}: others may read it (mode {mode:04o}): chmod 600 {file}")
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        said = line.strip().removeprefix("export ").strip()
        if not said or said.startswith("#"):
            continue
        name, equals, value = said.partition("=")
        if not equals or not NAME.fullmatch(name.strip()):
            raise InvalidInput(f"{file}:{number}: expected NAME=value")
        found[name.strip()] = _unquoted(value.strip())
    return found


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value


def filled_in(server: str, settings: McpServerConfig, known: Mapping[str, str]) -> McpServerConfig:
    """Return the settings with every `${NAME}` replaced; raises MissingServerVariable."""

    def value_of(match: "re.Match[str]") -> str:
        value = known.get(match.group(1), "")
        if not value:
            raise MissingServerVariable(
                f"server '{server}': the variable {match.group(1)} is not set, neither in the "
                "environment that the supervisor was started with nor in system/secrets.env"
            )
        return value

    def fill(text: str) -> str:
        return VARIABLE.sub(value_of, text)

    return settings.model_copy(
        update={
            "command": fill(settings.command),
            "args": tuple(map(fill, settings.args)),
            "cwd": fill(settings.cwd),
            "url": fill(settings.url),
            "env": {name: fill(value) for name, value in settings.env.items()},
            "headers": {name: fill(value) for name, value in settings.headers.items()},
        }
    )


def secrets_of(
    settings: McpServerConfig, environ: Mapping[str, str], secrets: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the values that must not be told on, the longest first.

    They are what stands in the file of secrets, in a header, or under a name that says so: a path
    or a language that is handed to a server by a variable is no secret.
    """
    named = variables_in({"server": settings.model_dump(mode="json")})
    values = {secrets.get(name, "") for name in named}
    values |= {environ.get(name, "") for name in named if SECRET_NAME.search(name)}
    given = {**environ, **secrets}
    for name, text in (*settings.env.items(), *settings.headers.items()):
        if name in settings.headers or SECRET_NAME.search(name):
            named_in = VARIABLE.findall(text)
            values |= {given.get(one, "") for one in named_in} if named_in else {text}
    secret = (value for value in values if len(value) >= SHORTEST_SECRET)
    return tuple(sorted(secret, key=lambda value: (-len(value), value)))


def blotted(text: str, secrets: tuple[str, ...]) -> str:
    """Return a text without the secrets."""
    for secret in secrets:
        text = text.replace(secret, BLOT)
    return text
