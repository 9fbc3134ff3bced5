"""Variables: `${NAME}` in settings (of channels, of tool servers), and names that Agiraph knows.

Does not import pydantic: the start of a process needs it to filter the environment.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

ADDRESS_SUFFIX = "_BASE_URL"
KEY_SUFFIXES = ("_API_KEY", ADDRESS_SUFFIX, "_AUTH_TOKEN")
"""The ends of the names of variables that configure a model service."""

GIT_CONFIGURATION_VARIABLES = (
    *("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
)
"""Variables of a person that contain the path of git's configuration."""

GIT_COMMAND_VARIABLES = (
    *("GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "VISUAL", "EDITOR", "GIT_PAGER", "PAGER", "GIT_SSH"),
    *("GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND", "GIT_EXTERNAL_DIFF"),
)
"""Variables of a person with a command that git runs."""

CERTIFICATE_VARIABLES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"),
    *("NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO"),
)
"""Variables with the path of certificates of authorities, by the programs that read them."""

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
