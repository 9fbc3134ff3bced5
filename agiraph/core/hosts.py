"""Hosts: the other machines of a home, their names and labels, and invitations.

An invitation is a line of text with which another machine can join a home once. It is secret while
it is valid:

    agiraph-invitation:1:{base64url of a msgpack map, without padding}

It contains a temporary CURVE key: a connection to `url` with this key can only request to join.
"""

import base64
import binascii
import re
from typing import Annotated, Final, Literal

import msgpack
from pydantic import Field, ValidationError

from agiraph.core.errors import InvalidInput
from agiraph.core.record import Count, Record

HOME_HOST = "home"
"""The host name of the machine on which the home runs."""

NAME_PATTERN = r"^[a-z0-9][a-z0-9-]{0,62}$"
LABEL_PATTERN = r"^[a-z0-9][a-z0-9:._-]{0,39}$"
"""`gpu`, `linux`, `has:docker`."""
AUTO_PREFIX = "auto-"
"""The name prefix of hosts that this home started itself."""
UPLINK_PATTERN = r"^tcp://[^\s/]+:\d{1,5}$"

MOST_LABELS = 64
Fact = Annotated[str, Field(max_length=500)]
"""A fact that a machine reports about itself."""
HostName = Annotated[str, Field(pattern=NAME_PATTERN)]
HostLabel = Annotated[str, Field(pattern=LABEL_PATTERN)]

HostAct = Literal["cordon", "uncordon", "drain"]
HostState = Literal["ready", "away", "lost"]


def check_host_name(name: str) -> str:
    """Return the name of a host; raises InvalidInput if it is not a valid host name."""
    if name == HOME_HOST or not re.fullmatch(NAME_PATTERN, name):
        reason = "that is the home's own machine" if name == HOME_HOST else "as build-2"
        raise InvalidInput(
            f"'{name}' cannot be the name of a host: at most 63 of a-z, 0-9 and '-', the first a"
            f" letter or a digit ({reason})"
        )
    return name


def check_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels of a host; raises InvalidInput for an invalid label or too many labels."""
    if len(labels) > MOST_LABELS:
        raise InvalidInput(f"{len(labels)} labels: a host has at most {MOST_LABELS}")
    for label in labels:
        if not re.fullmatch(LABEL_PATTERN, label):
            raise InvalidInput(f"'{label}' is not a label, as gpu or has:docker")
    return labels


def is_other_machine(host: str) -> bool:
    """Whether `host` names another machine: neither '' nor the home's own machine."""
    return host not in ("", HOME_HOST)


class CurveKey(Record):
    """A CURVE key pair in Z85."""

    public: str
    secret: str

    @classmethod
    def of(cls, pair: tuple[str, str]) -> "CurveKey":
        """Return the key for a pair (public, secret)."""
        return cls(public=pair[0], secret=pair[1])


class MachineFacts(Record):
    """The properties of a machine; `labels` are detected: `linux`, `has:docker`, `gpu` ...

    `version` is the Agiraph version; `boot` identifies this boot of the machine.
    """

    version: Fact
    platform: Fact = ""
    python: Fact = ""
    cores: int = Field(default=1, ge=1)
    memory_bytes: Count = 0
    labels: tuple[Fact, ...] = Field(default=(), max_length=MOST_LABELS)
    boot: Fact = ""


class HostInfo(Record):
    """One row of the table of hosts.

    `state`: an `away` host is silent but its lease is still valid, or nothing ran there when the
    home started. A `lost` host is silent, its lease has ended, and its processes are started
    elsewhere. A cordoned host receives no new work. `labels` contains the labels from a person and
    the detected ones; `skew_seconds` is the clock of the host minus our clock.
    """

    name: str
    state: HostState
    is_cordoned: bool = False
    labels: tuple[str, ...] = ()
    facts: MachineFacts | None = None
    processes: int = 0
    load: float = 0.0
    free_memory_bytes: int = 0
    latency_seconds: float | None = None
    skew_seconds: float | None = None
    seen_at: float | None = None
    lease_seconds: float = 0.0
    """The remaining time of its lease."""


INVITATION_PREFIX: Final = "agiraph-invitation:"
INVITATION_VERSION: Final = 1
SHOWN_OF_INVITATION: Final = 24


class Invitation(Record):
    """The data for reaching and joining a home. Keys are CURVE keys in Z85.

    `server_key` is the public key of the home, `secret` the key of the invitation, `id` the name of
    the invitation at the home. `name` is the name of the host; empty if the host may choose.
    `expires_at` is a Unix time, 0 for never.
    """

    url: str
    server_key: str
    id: str
    secret: str
    name: str = ""
    expires_at: float = 0.0

    def line(self) -> str:
        """Return the invitation as the line that a person copies."""
        packed: bytes = msgpack.packb(self.model_dump(exclude_defaults=True))
        text = base64.urlsafe_b64encode(packed).decode().rstrip("=")
        return f"{INVITATION_PREFIX}{INVITATION_VERSION}:{text}"


def read_invitation(line: str, now: float) -> Invitation:
    """Return the invitation in a line; `now` is a Unix time. Raises InvalidInput."""
    text = "".join(line.split())  # a terminal may have inserted line breaks
    if not text.startswith(INVITATION_PREFIX):
        shown = f"{text[:SHOWN_OF_INVITATION]}..." if len(text) > SHOWN_OF_INVITATION else text
        raise InvalidInput(
            f"'{shown}' is no invitation: `agiraph host invite` on the home's machine prints one,"
            f" which begins with {INVITATION_PREFIX}"
        )
    version, _, data = text.removeprefix(INVITATION_PREFIX).partition(":")
    if version.isdecimal() and int(version) > INVITATION_VERSION:
        raise InvalidInput(
            f"the invitation has version {version}, this Agiraph reads version"
            f" {INVITATION_VERSION}: install the home's version here"
        )
    try:
        packed = base64.b64decode(data + "=" * (-len(data) % 4), b"-_", validate=True)
        found = Invitation.model_validate(msgpack.unpackb(packed))
    except (binascii.Error, ValueError, msgpack.exceptions.UnpackException, ValidationError):
        raise InvalidInput(
            f"the invitation is cut off or changed ({len(text)} characters): copy the whole line"
        ) from None
    if found.expires_at and found.expires_at <= now:
        raise InvalidInput(
            f"the invitation expired {now - found.expires_at:.0f} s ago: `agiraph host invite`"
            " prints another"
        )
    return found
