"""Gateways on other machines at which a person has logged in: URLs, names and tokens.

They are stored in `agiraph/remotes.json` in the person's config folder (mode 0600), not in a home:
a machine that is only used as a console has no home.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from agiraph.core.errors import InvalidInput, unknown
from agiraph.core.json_text import parse_json
from agiraph.storage.files import make_private_folder, read_bytes, replace_bytes
from agiraph.storage.home import user_home

FILE: Final = "remotes.json"


@dataclass(frozen=True, slots=True)
class Remote:
    """A gateway on another machine.

    `ca` is a PEM file with the trusted authorities, '' for this machine's. `insecure`: its URL may
    be plain HTTP to another machine.
    """

    url: str
    token: str = ""
    name: str = ""
    ca: str = ""
    insecure: bool = False

    @property
    def label(self) -> str:
        """The remote's name for the command line: its name, else its URL."""
        return self.name or self.url


@dataclass(frozen=True, slots=True)
class Remotes:
    """All known remotes, by URL; `default` is the URL of the remote used without a name."""

    known: Mapping[str, Remote]
    default: str = ""

    def find(self, name: str) -> Remote:
        """Return the remote with this name or URL. Raises InvalidInput for an unknown name.

        A URL need not be known.
        """
        if "://" in name:
            url = checked_url(name)
            return self.known.get(url, Remote(url))
        for remote in self.known.values():
            if remote.name == name:
                return remote
        raise unknown("remote", name, [remote.label for remote in self.known.values()])

    def with_remote(self, remote: Remote) -> "Remotes":
        """Return a copy with this remote added: as the default, unless it has a name."""
        others = {
            url: replace(other, name="") if other.name == remote.name else other
            for url, other in self.known.items()
        }
        default = self.default if remote.name else remote.url
        return Remotes(others | {remote.url: remote}, default)

    def without(self, remote: Remote) -> "Remotes":
        """Return a copy without this remote, which is no longer the default either."""
        others = {url: other for url, other in self.known.items() if url != remote.url}
        return Remotes(others, "" if self.default == remote.url else self.default)


def remotes_file(environ: Mapping[str, str]) -> Path:
    """Return the file of the remotes: below XDG_CONFIG_HOME if that is an absolute path."""
    named = environ.get("XDG_CONFIG_HOME", "")
    config = Path(named) if os.path.isabs(named) else user_home() / ".config"
    return config.resolve() / "agiraph" / FILE


def read_remotes(file: Path) -> Remotes:
    """Return the known remotes. Raises InvalidInput, which names the file."""
    try:
        found = parse_json(read_bytes(file))
        known = [Remote(**fields) for fields in found["remotes"]]
        return Remotes({remote.url: remote for remote in known}, str(found["default"]))
    except FileNotFoundError:
        return Remotes({})
    except OSError as error:
        raise InvalidInput(f"{file}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        raise InvalidInput(f"{file}: is damaged; remove it and log in again") from None


def write_remotes(file: Path, remotes: Remotes) -> None:
    """Store the remotes in `file` (mode 0600). Raises InvalidInput if that fails."""
    rows = [asdict(remote) for remote in remotes.known.values()]
    text = json.dumps({"default": remotes.default, "remotes": rows}, indent=2)
    try:
        make_private_folder(file.parent)
        replace_bytes(file, f"{text}\n".encode(), 0o600)
    except OSError as error:
        raise InvalidInput(f"{file}: cannot be written ({error.strerror})") from None


def checked_url(text: str) -> str:
    """Return the address of a gateway without a slash at its end. Raises InvalidInput."""
    try:
        url = urlsplit(text)
        is_web = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError:
        is_web = False
    is_plain = text.isprintable() and not set(" @\\") & set(text)
    if not (is_web and is_plain) or url.query or url.fragment:
        raise InvalidInput(f"'{text}' is not the address of a gateway (as https://atlas.example)")
    host = url.netloc.lower()
    return f"{url.scheme}://{host}{url.path.rstrip('/')}"


def require_private(remote: Remote) -> None:
    """Raise InvalidInput if the token would be sent unencrypted to another machine."""
    from agiraph.settings.config import is_loopback  # it imports pydantic

    url = urlsplit(remote.url)
    if url.scheme == "https" or remote.insecure or is_loopback(url.hostname or ""):
        return
    raise InvalidInput(
        f"{remote.url} is not encrypted: whoever is on the way could read the token (possible: an "
        "https:// address, an SSH tunnel, or --insecure if a tunnel or VPN protects the way)"
    )
