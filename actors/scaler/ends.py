"""Shared by launchers: the reason why a host has ended, and the label of a home's own hosts."""

import hashlib
from dataclasses import dataclass
from typing import Literal

from agiraph.core.json_text import parse_json
from agiraph.storage.files import read_bytes
from agiraph.storage.home import Home


@dataclass(frozen=True, slots=True)
class HostEnd:
    """Why a host has ended: its process, its machine (`node_lost`), or unknown (`gone`)."""

    kind: Literal["exited", "node_lost", "gone", "late"]
    text: str


class LauncherFailed(Exception):
    """The launcher could not execute a request; the exception's text is the reason."""


def label_of(home: Home) -> str:
    """Return the label of a home's resources in a cluster: a digest of its public key."""
    public = parse_json(read_bytes(home.system.uplink_key))["public"]
    return hashlib.sha256(public.encode()).hexdigest()[:16]
