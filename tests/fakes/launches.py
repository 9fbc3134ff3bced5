"""Launches of actors, for tests that start an actor or read its launch."""

from pathlib import Path
from typing import Any

from actors.runtime.launch import ActorLaunch


def launch_of(home: Path, address: str = "router", **changes: Any) -> ActorLaunch:
    """Return the launch of an actor in this home; its kind is by default its address."""
    values: dict[str, Any] = {
        "address": address,
        "kind": address,
        "incarnation": 1,
        "ticket": b"t" * 32,
        "router_url": f"ipc://{home}/none.sock",
        "home": home,
        "args": {},
        "config": {},
    }
    return ActorLaunch(**values | changes)
