"""The settings of other machines: their connection to a home, and their automatic start."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agiraph.core.hosts import HostLabel, HostName


class HostsConfig(BaseModel):
    """How other machines reach this home, and for how long each may work without it."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    listen: str = Field(pattern=r"^(tcp://\S+:\d+)?$")
    advertise: str = Field(pattern=r"^(tcp://\S+:\d+)?$")
    lease_seconds: float = Field(ge=3)
    renew_seconds: float = Field(gt=0)
    invitation_seconds: float = Field(gt=0)
    launcher: Literal["none", "local", "kubernetes", "ray"]
    default_host: Literal[""] | HostName
    default_labels: tuple[HostLabel, ...]

    @model_validator(mode="after")
    def _listens(self) -> "HostsConfig":
        if self.launcher != "none" and not self.listen:
            raise ValueError(
                f"hosts.launcher is {self.launcher}, and hosts.listen is empty: where would they"
                " connect? (as in tcp://0.0.0.0:7400)"
            )
        return self


class ScalerConfig(BaseModel):
    """The hosts that the home starts and ends by itself, if `hosts.launcher` is set."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    min_hosts: int = Field(ge=0)
    max_hosts: int = Field(ge=1)
    idle_seconds: float = Field(ge=0)
    start_seconds: float = Field(gt=0)
    labels: tuple[HostLabel, ...]
    cpus: float = Field(gt=0)
    memory_mb: int = Field(ge=256)
    image: str
    namespace: str
    ray_address: str

    @model_validator(mode="after")
    def _ordered(self) -> "ScalerConfig":
        if self.min_hosts > self.max_hosts:
            raise ValueError(f"min_hosts {self.min_hosts} is more than max_hosts {self.max_hosts}")
        return self


OF_CHANNELS: Final = ("kind", "notices", "urgent_only")
OF_SERVERS: Final = ("grant", "lend", "only", "repeatable", "timeout_seconds")
AT_HOME: Final[Mapping[str, Mapping[str, str]]] = {
    "webhook": {"url": "https://home"},
    "email": {"to": "you@home", "sender": "you@home", "server": "home"},
}
"""The fields that a channel of a kind must have."""


def config_for_hosts(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Config, as plain values, for a process on another machine.

    Channels and MCP servers run at home, and their settings may contain secrets: a host gets only
    their names and the rules for their use.
    """
    channels = {
        name: {key: one[key] for key in OF_CHANNELS} | dict(AT_HOME.get(one["kind"], {}))
        for name, one in config["channels"].items()
    }
    servers = {
        name: {key: one[key] for key in OF_SERVERS} | {"command": "at-home"}
        for name, one in config["mcp"]["servers"].items()
    }
    return {**config, "channels": channels, "mcp": {**config["mcp"], "servers": servers}}
