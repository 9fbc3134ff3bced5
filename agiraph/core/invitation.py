"""Invitation: the line with which another machine joins a home, once. A secret while it is valid.

    agiraph-invitation:1:{base64url of a msgpack map, without padding}

It holds a temporary CURVE key: whoever connects to `url` with it may only ask to join.
"""

import base64
import binascii
from typing import Final

import msgpack
from pydantic import ValidationError

from agiraph.core.errors import InvalidInput
from agiraph.core.record import Record

PREFIX: Final = "agiraph-invitation:"
VERSION: Final = 1
SHOWN: Final = 24


class Invitation(Record):
    """How to reach a home and join it. Keys are CURVE keys in Z85.

    `server_key` is the home's public key, `secret` the invitation's own, `id` its name there;
    `name` is that of the host, empty if it may choose. `expires_at` is a Unix time, 0 for never.
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
        return f"{PREFIX}{VERSION}:{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def read_invitation(line: str, now: float) -> Invitation:
    """Return the invitation of a line; `now` is a Unix time. Raises InvalidInput: what is wrong."""
    text = "".join(line.split())  # a terminal may have broken it
    if not text.startswith(PREFIX):
        shown = f"{text[:SHOWN]}..." if len(text) > SHOWN else text
        raise InvalidInput(
            f"'{shown}' is no invitation: `agiraph host invite` on the home's machine prints one,"
            f" which begins with {PREFIX}"
        )
    version, _, data = text.removeprefix(PREFIX).partition(":")
    if version.isdecimal() and int(version) > VERSION:
        raise InvalidInput(
            f"the invitation has version {version}, this Agiraph reads version {VERSION}: install"
            " the home's version here"
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
