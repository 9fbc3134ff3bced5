"""Host records: the machines that have joined a home, and its open invitations.

The supervisor writes them to `system/hosts.json` (`actors/supervisor/host_registry.py`).
"""

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from agiraph.core.errors import Corrupt
from agiraph.core.hosts import MachineFacts
from agiraph.core.record import Record
from agiraph.storage.files import read_bytes

Kept = TypeVar("Kept", bound=Record)


class RegisteredHost(Record):
    """A machine that has joined; `labels` were given by a person."""

    name: str
    public_key: str
    labels: tuple[str, ...] = ()
    is_cordoned: bool = False
    lease_seconds: float = 0.0
    facts: MachineFacts | None = None


class OpenInvitation(Record):
    """An invitation that was not used yet; `expires_at` is a Unix time."""

    id: str
    public_key: str
    name: str = ""
    labels: tuple[str, ...] = ()
    expires_at: float


class RegistryFile(Record):
    """The content of `system/hosts.json`."""

    hosts: tuple[RegisteredHost, ...] = ()
    invitations: tuple[OpenInvitation, ...] = ()


def read_record(file: Path, kind: type[Kept]) -> Kept | None:
    """Return the record in a file, None if there is no file. Raises Corrupt, OSError."""
    try:
        return kind.model_validate_json(read_bytes(file))
    except FileNotFoundError:
        return None
    except (ValueError, AttributeError, ValidationError) as error:
        raise Corrupt(f"{file}: {error}") from None
