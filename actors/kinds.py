"""Which function runs a process of each kind; resolved only in the process that runs it."""

import importlib
from collections.abc import Callable, Mapping

from actors.launch import Launch
from agiraph.errors import unknown

Entry = Callable[[Launch], int]

KINDS: Mapping[str, str] = {
    "router": "actors.router:main",
    "recorder": "actors.recorder:main",
    "broker": "actors.broker.main:main",
    "clock": "actors.clock.main:main",
    "human": "actors.human.main:main",
    "coordinator": "actors.coordinator.main:main",
    "worker": "actors.worker.main:main",
    "tracer": "actors.tracer.main:main",
    "web": "actors.web.main:main",
    "tools": "actors.mcp.main:main",
}

PREPARATIONS: Mapping[str, str] = {"broker": "actors.broker.warming:begin"}
"""What an interpreter of a kind does, beside importing its entry, before its launch has come."""


def entry_named(kind: str, kinds: Mapping[str, str] = KINDS) -> str:
    """Return the "module:function" of a kind; raises InvalidInput listing the known ones."""
    if kind not in kinds:
        raise unknown("kind of process", kind, list(kinds))
    return kinds[kind]


def resolve(entry: str) -> Entry:
    """Import and return the function that "module:function" names."""
    module, _, function = entry.partition(":")
    found: Entry = getattr(importlib.import_module(module), function)
    return found
