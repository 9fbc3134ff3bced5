"""PrestartedProcesses: what a supervisor for one run starts before anything else, itself included.

An interpreter needs longer to import than to do what it is for, and the SDK of a model service
longest of all. So broker, spawner and router are started first, and import while the supervisor
does. Each waits at its descriptor for its launch: until then it touches nothing, and it ends when
that descriptor does.
"""

from collections.abc import Mapping
from types import MappingProxyType

from actors.runtime.environment import environment_for
from actors.supervisor.interpreters import (
    PrestartedProcess,
    SpawnerProcess,
    start_actor,
    start_spawner,
)

NOBODY: Mapping[str, PrestartedProcess] = MappingProxyType({})


class PrestartedProcesses:
    """The processes that were started ahead: actors by kind."""

    def __init__(
        self,
        actors: Mapping[str, PrestartedProcess] = NOBODY,
        spawner: SpawnerProcess | None = None,
    ) -> None:
        """Hold what `start` made."""
        self.actors = actors
        self.spawner = spawner


def start(model: str, environ: Mapping[str, str]) -> PrestartedProcesses:
    """Start the processes that every house needs; raises OSError."""
    broker = start_actor(("broker", model), environment_for("broker", environ), None)
    spawner = start_spawner(environment_for("spawner", environ), None)
    router = start_actor(("router",), environment_for("router", environ), None)
    return PrestartedProcesses({"broker": broker, "router": router}, spawner)
