"""HostEnd: why a host that a launcher started is no more."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class HostEnd:
    """Why a host has ended: its process, its machine (`node_lost`), or nobody knows it (`gone`)."""

    kind: Literal["exited", "node_lost", "gone", "late"]
    text: str


class LauncherFailed(Exception):
    """The launcher could not do what it was asked; its text says why."""
