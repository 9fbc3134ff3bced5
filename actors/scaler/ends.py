"""What launchers share: why a host that one started is no more, and by what it knows its own."""

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

from agiraph.storage.files import read_bytes
from agiraph.storage.home import Home


@dataclass(frozen=True, slots=True)
class HostEnd:
    """Why a host has ended: its process, its machine (`node_lost`), or nobody knows it (`gone`)."""

    kind: Literal["exited", "node_lost", "gone", "late"]
    text: str


class LauncherFailed(Exception):
    """The launcher could not do what it was asked; its text says why."""


def label_of(home: Home) -> str:
    """Return what marks what a home has started in a cluster: a digest of its public key."""
    public = json.loads(read_bytes(home.system.uplink_key))["public"]
    return hashlib.sha256(public.encode()).hexdigest()[:16]
