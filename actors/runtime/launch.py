"""ActorLaunch: the arguments of a process. They travel over a pipe, never in argv or environ."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import msgpack

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ActorLaunch:
    """Everything an actor needs to begin.

    `ticket` admits this incarnation at the router. `args` are the actor's own (ChildSpec.args),
    `config` is the whole Config as plain values. `entry` names the function to run as
    "module:function"; empty means the function in `actors.runtime.kinds` for `kind`. `last_end` is
    the cause in words if the previous incarnation died of its own fault, else empty. `host` is the
    name of the host that it runs on; empty at home.
    """

    address: str
    kind: str
    incarnation: int
    ticket: bytes = field(repr=False)
    router_url: str
    home: Path
    args: JsonObject = field(repr=False)
    config: JsonObject = field(repr=False)
    entry: str = ""
    last_end: str = ""
    host: str = ""

    def pack(self) -> bytes:
        """Return the launch as bytes."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}  # asdict copies deeply
        packed: bytes = msgpack.packb(values | {"home": str(self.home)}, use_bin_type=True)
        return packed

    @classmethod
    def unpack(cls, data: bytes) -> "ActorLaunch":
        """Return the launch that `pack` made; raises ValueError or TypeError for anything else."""
        values = msgpack.unpackb(data, raw=False)
        return cls(**values | {"home": Path(values["home"])})
