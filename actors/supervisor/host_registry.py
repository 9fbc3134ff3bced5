"""HostRegistry: the machines that have joined this home, and the open invitations.

`system/hosts.json` contains their names, public keys, labels, and the lengths of their leases;
`system/uplink.key` the home's own CURVE key, mode 0600. An invitation's secret key is only in its
line.
"""

import secrets
import time
from collections.abc import Callable
from typing import Final

from agiraph.core.errors import InvalidInput, Refused, listed, unknown
from agiraph.core.hosts import CurveKey, Invitation, check_host_name, check_labels
from agiraph.core.ids import HOST_PREFIX, INVITE_PREFIX
from agiraph.messages.host import HostInvited, InviteHost, JoinHost
from agiraph.readmodel.host_records import OpenInvitation, RegisteredHost, RegistryFile, read_record
from agiraph.storage.files import replace_bytes
from agiraph.storage.home import Home
from transport.sockets import curve_keys

MOST_INVITATIONS: Final = 64
LAST_SECONDS: Final = 2.0
"""For how long a removed key remains valid: its owner waits for the answer."""
KEY_LENGTH: Final = 40


class HostRegistry:
    """The only writer of `hosts.json` and `uplink.key`; reads raise Corrupt, writes OSError."""

    def __init__(self, home: Home, now: Callable[[], float] = time.time) -> None:
        self._file = home.system.hosts
        self._key_file = home.system.uplink_key
        self._now = now
        kept = read_record(self._file, RegistryFile) or RegistryFile()
        self.hosts = {host.name: host for host in kept.hosts}
        self._invitations = {one.id: one for one in kept.invitations}
        self._ending: dict[str, tuple[str, float]] = {}

    def uplink_key(self) -> CurveKey:
        """Return the key of this home, which the first call creates."""
        key = read_record(self._key_file, CurveKey)
        if key is None:
            key = CurveKey.of(curve_keys())
            replace_bytes(self._key_file, key.model_dump_json().encode(), 0o600)
        return key

    def invitations(self) -> tuple[OpenInvitation, ...]:
        """Return the invitations that are still valid."""
        now = self._now()
        return tuple(one for one in self._invitations.values() if one.expires_at > now)

    def known(self) -> dict[str, str]:
        """Return the public keys that may connect, with the addresses of their owners."""
        now = self._now()
        ending = {key: owner for key, (owner, until) in self._ending.items() if until > now}
        hosts = {host.public_key: HOST_PREFIX + host.name for host in self.hosts.values()}
        guests = {one.public_key: INVITE_PREFIX + one.id for one in self.invitations()}
        return ending | guests | hosts

    def invite(self, asked: InviteHost, url: str) -> HostInvited:
        """Return a new invitation to `url`, with the terms in `asked`. Raises Refused, OSError."""
        if asked.name is not None:
            self._check_free(asked.name)
        still = self.invitations()
        if len(still) >= MOST_INVITATIONS:
            raise Refused(f"{MOST_INVITATIONS} invitations are open: use them, or let them expire")
        public, secret = curve_keys()
        open_one = OpenInvitation(
            id=secrets.token_hex(8),
            public_key=public,
            name=asked.name or "",
            labels=asked.labels,
            expires_at=self._now() + asked.seconds,
        )
        line = Invitation(
            url=url,
            server_key=self.uplink_key().public,
            id=open_one.id,
            secret=secret,
            name=open_one.name,
            expires_at=open_one.expires_at,
        ).line()
        self._write(self.hosts, {one.id: one for one in (*still, open_one)})
        return HostInvited(line=line, expires_at=open_one.expires_at)

    def admit(self, invitation: str, asked: JoinHost) -> RegisteredHost:
        """Register a host and end its `invitation` (an id). Raises Refused, OSError.

        A host's repeated request returns its record.
        """
        same = self.hosts.get(asked.name)
        if same is not None and same.public_key == asked.public_key:
            return same
        used = {one.id: one for one in self.invitations()}.get(invitation)
        if used is None:
            raise Refused("the invitation was used, or has expired")
        if used.name and asked.name != used.name:
            raise Refused(f"the invitation is for a host named '{used.name}', not '{asked.name}'")
        self._check_free(asked.name)
        taken = {*self.known(), self.uplink_key().public}
        if len(asked.public_key) != KEY_LENGTH or asked.public_key in taken:
            raise InvalidInput(f"host '{asked.name}' needs a CURVE key of its own, in Z85")
        host = RegisteredHost(
            name=asked.name,
            public_key=asked.public_key,
            labels=check_labels(tuple(dict.fromkeys((*used.labels, *asked.labels)))),
            facts=asked.facts,
        )
        rest = {key: one for key, one in self._invitations.items() if key != invitation}
        self._write(self.hosts | {host.name: host}, rest)
        self._ends(used.public_key, INVITE_PREFIX + used.id)
        return host

    def change(self, name: str, **changes: object) -> RegisteredHost:
        """Change fields of a host's record and return it.

        Nothing is written without a difference.
        """
        host = self.named(name)
        changed = host.model_copy(update=changes)
        if changed != host:
            self._write(self.hosts | {name: changed}, self._invitations)
        return changed

    def remove(self, name: str) -> None:
        """Forget a host: its key is refused from now on."""
        host = self.named(name)
        rest = {key: host for key, host in self.hosts.items() if key != name}
        self._write(rest, self._invitations)
        self._ends(host.public_key, HOST_PREFIX + name)

    def named(self, name: str) -> RegisteredHost:
        """Return the record of a host. Raises InvalidInput for an unknown name."""
        if name not in self.hosts:
            raise unknown("host", name, list(self.hosts))
        return self.hosts[name]

    def _ends(self, key: str, owner: str) -> None:
        self._ending[key] = owner, self._now() + LAST_SECONDS

    def _check_free(self, name: str) -> None:
        check_host_name(name)
        if name in self.hosts:
            raise Refused(f"there is a host '{name}' already (hosts: {listed(list(self.hosts))})")

    def _write(
        self, hosts: dict[str, RegisteredHost], invitations: dict[str, OpenInvitation]
    ) -> None:
        file = RegistryFile(hosts=tuple(hosts.values()), invitations=tuple(invitations.values()))
        replace_bytes(self._file, file.model_dump_json(indent=1).encode(), 0o600)
        self.hosts, self._invitations = hosts, invitations
