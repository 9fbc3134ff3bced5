"""The variables, `${NAME}`, that settings (of channels, of tool servers) name in place of secrets.

Does not import pydantic: the start of a process needs it to filter the environment.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

ADDRESS_SUFFIX = "_BASE_URL"
KEY_SUFFIXES = ("_API_KEY", ADDRESS_SUFFIX, "_AUTH_TOKEN")
"""The ends of the names of variables that configure a model service."""

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def variables_in(channels: Mapping[str, Any]) -> frozenset[str]:
    """Return the variables that these channels (as plain values) name."""
    return frozenset(_variables(channels.values()))


def _variables(values: Iterable[Any]) -> Iterable[str]:
    for value in values:
        if isinstance(value, str):
            yield from VARIABLE.findall(value)
        elif isinstance(value, Mapping):
            yield from _variables(value.values())
        elif isinstance(value, list | tuple):
            yield from _variables(value)


def fill(text: str, known: Mapping[str, str], missing: Callable[[str], Exception]) -> str:
    """Return a text with every `${NAME}` replaced; raise `missing(NAME)` if one is not set."""

    def value_of(match: "re.Match[str]") -> str:
        if not (value := known.get(match[1], "")):
            raise missing(match[1])
        return value

    return VARIABLE.sub(value_of, text)
