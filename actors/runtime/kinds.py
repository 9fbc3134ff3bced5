"""The function that runs each kind of process; resolved only in the process that runs it."""

import importlib
from collections.abc import Callable, Mapping

from actors.runtime.launch import ActorLaunch
from agiraph.core.errors import unknown

Entry = Callable[[ActorLaunch], int]

KINDS: Mapping[str, str] = {
    "router": "actors.router.main:main",
    "recorder": "actors.recorder.recorder:main",
    "broker": "actors.broker.main:main",
    "clock": "actors.scheduler.scheduler:main",
    "human": "actors.gateway.main:main",
    "coordinator": "actors.coordinator.main:main",
    "worker": "actors.worker.main:main",
    "tracer": "actors.tracer.tracer:main",
    "scaler": "actors.scaler.scaler:main",
    "web": "actors.tools.web.web:main",
    "files": "actors.files.service:main",
    "tools": "actors.tools.mcp.server_process:main",
}


def entry_named(kind: str, kinds: Mapping[str, str] = KINDS) -> str:
    """Return the "module:function" of a kind; raises InvalidInput listing the known kinds."""
    if kind not in kinds:
        raise unknown("kind of process", kind, list(kinds))
    return kinds[kind]


def resolve(entry: str) -> Entry:
    """Import and return the function that "module:function" names."""
    module, _, function = entry.partition(":")
    found: Entry = getattr(importlib.import_module(module), function)
    return found
