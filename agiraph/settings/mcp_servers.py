"""The settings of `mcp.servers` in agiraph.yaml; secrets are in variables, `${NAME}`."""

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agiraph.core.redaction import BLOT
from agiraph.settings.variables import VARIABLE

SEPARATOR = "__"
"""The separator between a server's name and its tool's name."""
EVERYONE = "*"
TAKEN = frozenset({"web"})
OF_COMMANDS = ("args", "env", "cwd", "wrap", "writable", "readable", "network")

ServerName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]


class McpServerConfig(BaseModel):
    """One server: either a `command` that uses its stdin and stdout, or the `url` of a server.

    `grant` names the entities that always have its tools: workers or their roles, `coordinator`,
    `*`. With `lend` coordinators may give them to the workers they create. `only` are patterns of
    the tools that are available, `repeatable` of further tools that may be called twice, besides
    the ones marked by the server.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    cwd: str = ""
    wrap: str = Field(default="none", pattern=r"^(none|bwrap|docker [^\s-]\S*)$")
    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    network: bool = True
    url: str = Field(default="", pattern=r"^(https?://\S+|\$\{\w+\})?$")
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    grant: tuple[str, ...] = ()
    lend: bool = True
    only: tuple[str, ...] = (EVERYONE,)
    repeatable: tuple[str, ...] = ()
    timeout_seconds: float | None = Field(default=None, gt=0)
    park_after_seconds: float | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _is_one_kind(self) -> "McpServerConfig":
        if bool(self.command) == bool(self.url):
            raise ValueError("needs either `command` or `url`")
        foreign = OF_COMMANDS if self.url else ("headers",)
        said = [name for name in foreign if getattr(self, name) != _default_of(name)]
        if said:
            kind = "a server with a `url`" if self.url else "a server with a `command`"
            raise ValueError(f"{kind} has no `{said[0]}`")
        for folder in (*self.writable, *self.readable):
            if not folder.startswith("/"):
                raise ValueError(f"'{folder}' in writable or readable is not an absolute path")
        return self


def _default_of(name: str) -> Any:
    return McpServerConfig.model_fields[name].get_default(call_default_factory=True)


def check_names(servers: Mapping[str, McpServerConfig]) -> None:
    """Raise ValueError for a server's name that would make the names of its tools ambiguous."""
    for name in servers:
        if name in TAKEN:
            raise ValueError(f"'{name}' is taken by a tool of Agiraph's own; choose another name")
        if SEPARATOR in name or name.endswith("_"):
            raise ValueError(f"'{name}' must not hold '{SEPARATOR}' or end in '_'")


def fingerprint(settings: McpServerConfig) -> str:
    """Return a digest of a server's settings: a tool catalog of other settings is invalid."""
    said = json.dumps(settings.model_dump(mode="json"), sort_keys=True)
    return hashlib.blake2b(said.encode(), digest_size=8).hexdigest()


def without_secrets(servers: Mapping[str, Any]) -> dict[str, Any]:
    """Return servers (as plain values) with possible secrets redacted, for people."""
    return {name: _blotted(settings) for name, settings in servers.items()}


def _blotted(settings: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(settings)
    for key in ("env", "headers"):
        if shown.get(key):
            shown[key] = {
                name: value if VARIABLE.search(value) else BLOT
                for name, value in shown[key].items()
            }
    return shown
