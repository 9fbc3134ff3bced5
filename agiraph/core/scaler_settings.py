"""ScalerConfig: the settings of hosts that a home starts and ends by itself."""

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agiraph.core.hosts import HostLabel


class ScalerConfig(BaseModel):
    """Which hosts the home starts and ends by itself, if `hosts.launcher` says where."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
