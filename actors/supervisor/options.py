"""Options: what a supervisor is started with, and the services that every house has."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from actors.kinds import KINDS
from actors.supervisor.ahead import Ahead
from agiraph.config import Config
from agiraph.ids import BROKER, CLOCK, HUMAN, RECORDER, ROUTER, TRACER, WEB, Address

SERVICES = (ROUTER, RECORDER, BROKER, CLOCK, HUMAN)
ON_DEMAND = {WEB: "web"}
"""Services that have a process only while somebody needs them, with their kinds."""
OPTIONAL = (TRACER,)
"""Services that are there only if the settings ask for them; the house stands without them."""
SPAWNER = Address("spawner")


@dataclass(frozen=True, slots=True)
class Options:
    """What a supervisor is started with."""

    home: Path
    config: Config
    until_eof: bool = False
    kinds: Mapping[str, str] = field(default_factory=lambda: KINDS)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    ahead: Ahead = field(default_factory=Ahead)
