"""Grants: the models that a worker's external agent may call, stored in `system/doors.json`.

A token is derived from a key in the file and from the message that opened the grant, so a message
that is delivered twice opens one grant; the file contains only digests of tokens. The whole file is
replaced at each change, before the change is confirmed.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from agiraph.core.errors import InvalidInput
from agiraph.core.ids import split_model
from agiraph.core.money import Budget, SpendingLimits
from agiraph.core.record import Record
from agiraph.models.registry import ProviderPreset
from agiraph.storage.files import read_bytes, replace_bytes

TOKEN_PREFIX = "agd-"


class ProxyGrant(Record):
    """The entity of an external agent, and the models that the agent may call (full names).

    `opened_by` is the id of the message that opened the grant, in hexadecimal. `bounds` apply to
    all calls of this `attempt` at the node together.
    """

    entity: str
    incarnation: int
    opened_by: str
    run_id: str
    node_id: str
    model: str
    models: tuple[str, ...] = ()
    trigger: str = ""
    attempt: int = 0
    bounds: SpendingLimits = SpendingLimits()
    opened_at: float = 0.0

    @property
    def granted(self) -> tuple[str, ...]:
        """All models that may be called, the worker's own model first."""
        return tuple(dict.fromkeys((self.model, *self.models)))

    @property
    def budget(self) -> Budget:
        """The node's bounds as a budget that applies to each call; all limits may be None."""
        key = f"{self.run_id}/{self.node_id}/{self.attempt}"
        return Budget(scope="node", key=key, **self.bounds.model_dump())


def model_for(asked: str, grant: ProxyGrant, presets: Mapping[str, ProviderPreset]) -> str:
    """Return the full name of the model that answers a request for `asked`.

    A granted model answers to its full name and to the name of its service. A full name that was
    not granted is refused with InvalidInput. Every other name (`claude-sonnet-5`, `gpt-5`, `any`)
    is an alias of the worker's own model: agents request the models of their makers.
    """
    name = asked.strip()
    for granted in grant.granted:
        if name in (granted, split_model(granted)[1]):
            return granted
    provider = split_model(name)[0]
    if provider != name and provider in presets:
        listing = ", ".join(grant.granted)
        raise InvalidInput(f"model '{name}' is not granted to {grant.entity} (granted: {listing})")
    return grant.model


class _Saved(Record):
    """The contents of `system/doors.json`."""

    port: int = 0
    key: str
    doors: dict[str, ProxyGrant] = Field(default_factory=dict)


def digest_of(token: str) -> str:
    """Return the digest that identifies a token in the table."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


class ProxyGrantTable:
    """The open grants by the digest of their token; each entity has at most one.

    If the file cannot be read, no grant is open and `problem` contains the reason.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._saved, self.problem = _read(path)

    @property
    def port(self) -> int:
        """The port on which the server listened last, 0 if it never did."""
        return self._saved.port

    @property
    def is_empty(self) -> bool:
        """Whether no grant is open."""
        return not self._saved.doors

    def grant(self, token: str) -> ProxyGrant | None:
        """Return the grant of a token, None if the token has no open grant."""
        return self._saved.doors.get(digest_of(token))

    def open(self, grant: ProxyGrant) -> tuple[str, list[str]]:
        """Open a grant; return its token and the digests of the grants that it replaces."""
        token = self._token(grant)
        digest = digest_of(token)
        doors = self._saved.doors
        replaced = [k for k, one in doors.items() if one.entity == grant.entity and k != digest]
        doors = {key: one for key, one in doors.items() if key not in replaced}
        self._save(doors={**doors, digest: grant})
        return token, replaced

    def close(self, entity: str, *, token: str = "", up_to: int | None = None) -> list[str]:
        """Close an entity's grant; return the digests of closed grants, at most one.

        With a `token` only the grant of that token; with `up_to` only a grant that was opened by
        that incarnation or an earlier one.
        """
        closed = [
            key
            for key, grant in self._saved.doors.items()
            if grant.entity == entity
            and (not token or key == digest_of(token))
            and (up_to is None or grant.incarnation <= up_to)
        ]
        if closed:
            doors = {key: one for key, one in self._saved.doors.items() if key not in closed}
            self._save(doors=doors)
        return closed

    def set_port(self, port: int) -> None:
        """Store the port on which the server listens."""
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
    """Return the file's contents, or an empty table and the reason why it cannot be read."""
    fresh = _Saved(key=secrets.token_hex(32))
    try:
        saved = _Saved.model_validate_json(read_bytes(path))
        bytes.fromhex(saved.key)
    except FileNotFoundError:
        return fresh, ""
    except (OSError, ValueError) as error:
        return fresh, f"{path}: {error}"
    return saved, ""
