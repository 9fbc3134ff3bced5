"""ProxyGrantTable: which doors are open, in `system/doors.json`: what outlives the broker's
process.

Tokens follow from a key in the file and from the message that opened the door, so a message that
comes twice opens one door; the file holds digests of them. It is replaced whole at each change,
before anybody is answered.
"""

import hashlib
import hmac
import secrets
from pathlib import Path

from pydantic import Field

from agiraph.core.record import Record
from agiraph.llm.proxy.grants import ProxyGrant
from agiraph.storage.files import read_bytes, replace_bytes
from agiraph.storage.versions import read_object

TOKEN_PREFIX = "agd-"


class _Saved(Record):
    """The file."""

    port: int = 0
    key: str
    doors: dict[str, ProxyGrant] = Field(default_factory=dict)


def digest_of(token: str) -> str:
    """Return what a token is known by."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


class ProxyGrantTable:
    """The open doors by the digest of their token; each entity has at most one."""

    def __init__(self, path: Path) -> None:
        """Read the table at `path`; one that cannot be read opens nothing, `problem` says why."""
        self._path = path
        self._saved, self.problem = _read(path)

    @property
    def port(self) -> int:
        """Where the server listened last, 0 if it never did."""
        return self._saved.port

    @property
    def is_empty(self) -> bool:
        """Whether no door is open."""
        return not self._saved.doors

    def grant(self, token: str) -> ProxyGrant | None:
        """Return what a token lets its holder do, None if it opens nothing (any more)."""
        return self._saved.doors.get(digest_of(token))

    def open(self, grant: ProxyGrant) -> tuple[str, list[str]]:
        """Open a door; return its token and the digests of the doors that it replaces."""
        token = self._token(grant)
        digest = digest_of(token)
        replaced = [key for key, other in self._saved.doors.items()
                    if other.entity == grant.entity and key != digest]  # fmt: skip
        doors = {key: door for key, door in self._saved.doors.items() if key not in replaced}
        self._save(doors={**doors, digest: grant})
        return token, replaced

    def close(self, entity: str, *, token: str = "", up_to: int | None = None) -> list[str]:
        """Close an entity's door, and return its digest (in a list, empty if there was none).

        With a `token` only that one; with `up_to` only if it was opened by that incarnation or an
        earlier one.
        """
        closed = [
            key
            for key, door in self._saved.doors.items()
            if door.entity == entity
            and (not token or key == digest_of(token))
            and (up_to is None or door.incarnation <= up_to)
        ]
        if closed:
            doors = {key: door for key, door in self._saved.doors.items() if key not in closed}
            self._save(doors=doors)
        return closed

    def listens(self, port: int) -> None:
        """Remember where the server listens."""
        if port != self._saved.port:
            self._save(port=port)

    def _token(self, grant: ProxyGrant) -> str:
        seed = f"{grant.entity}#{grant.incarnation}#{grant.opened_by}".encode()
        mac = hmac.digest(bytes.fromhex(self._saved.key), seed, "sha256")
        return TOKEN_PREFIX + mac.hex()

    def _save(self, *, port: int | None = None, doors: dict[str, ProxyGrant] | None = None) -> None:
        saved = _Saved(
            port=self._saved.port if port is None else port,
            key=self._saved.key,
            doors=self._saved.doors if doors is None else doors,
        )
        replace_bytes(self._path, saved.model_dump_json().encode(), 0o600)
        self._saved = saved


def _read(path: Path) -> tuple[_Saved, str]:
    """Return the file's contents, or none of its own making and what is wrong with it."""
    fresh = _Saved(key=secrets.token_hex(32))
    try:
        saved = _Saved.model_validate(read_object(path, read_bytes(path)))
        bytes.fromhex(saved.key)
    except FileNotFoundError:
        return fresh, ""
    except (OSError, ValueError) as error:
        return fresh, f"{path}: {error}"
    return saved, ""
