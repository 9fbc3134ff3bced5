"""The settings of other machines: how they reach a home, and which it starts by itself."""

from typing import ClassVar, Literal

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
    """Which hosts the home starts and ends by itself, if `hosts.launcher` says where."""

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
