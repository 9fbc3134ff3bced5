"""The values of `${NAME}` in a server's settings: from the environment, or a private file.

The file, `{home}/system/secrets.env`, contains `NAME=value` lines; the environment takes
precedence.
"""

import os
import re
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.redaction import BLOT, SECRET_NAME
from agiraph.settings.mcp_servers import McpServerConfig
from agiraph.settings.variables import VARIABLE, fill, variables_in
from agiraph.settings.yaml_text import is_absent, read_text

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SHORTEST_SECRET = 6
"""Shorter values occur in harmless texts, too."""


class MissingServerVariable(Refused):
    """A server's settings name a variable that is not set."""


def read_secrets(file: Path) -> dict[str, str]:
    """Return the variables of the file, none if it is missing. Raises InvalidInput."""
    try:
        if is_absent(file):
            return {}
        lines = read_text(file).splitlines()
        mode = stat.S_IMODE(os.stat(file).st_mode)
    except OSError as error:
        raise InvalidInput(f"{file}: cannot be read ({error.strerror})") from None
    if mode & 0o077:
        raise InvalidInput(f"{file}: others may read it (mode {mode:04o}): chmod 600 {file}")
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip().removeprefix("export ").strip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.partition("=")
        if not equals or not NAME.fullmatch(name.strip()):
            raise InvalidInput(f"{file}:{number}: expected NAME=value")
        found[name.strip()] = _unquoted(value.strip())
    return found


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value


def filled_in(server: str, settings: McpServerConfig, known: Mapping[str, str]) -> McpServerConfig:
    """Return the settings with every `${NAME}` replaced. Raises MissingServerVariable."""

    def missing(name: str) -> MissingServerVariable:
        return MissingServerVariable(
            f"server '{server}': the variable {name} is not set, neither in the "
            "environment that the supervisor was started with nor in system/secrets.env"
        )

    def filled(value: Any) -> Any:
        match value:
            case str():
                return fill(value, known, missing)
            case tuple():
                return tuple(map(filled, value))
            case _:
                return {name: filled(one) for name, one in value.items()}

    names = ("command", "args", "cwd", "url", "env", "headers")
    return settings.model_copy(update={name: filled(getattr(settings, name)) for name in names})


def secrets_of(
    settings: McpServerConfig, environ: Mapping[str, str], secrets: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the values that must be redacted, the longest first.

    These are the values in the file of secrets, in headers, and of variables with a secret's name:
    a path or a language in a variable is not a secret.
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


def redacted(text: str, secrets: tuple[str, ...]) -> str:
    """Return a text in which each of `secrets` is replaced by BLOT."""
    for secret in secrets:
        text = text.replace(secret, BLOT)
    return text


def why_unusable(name: str, settings: McpServerConfig, known: Mapping[str, str]) -> str:
    """Return why a server could not be started, '' if no obstacle is known.

    `known` has the values of variables, PATH among them.
    """
    try:
        filled = filled_in(name, settings, known)
    except Refused as error:
        return str(error)
    program = "docker" if filled.wrap.startswith("docker ") else filled.command
    if program and shutil.which(program, path=known.get("PATH")) is None:
        return f"server '{name}': the program '{program}' is not installed"
    return ""
