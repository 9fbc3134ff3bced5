"""Toolchain: the parts of the machine with a command's tools; no private files.

These are the system's programs, the files of /etc that they read, and for each further folder on
PATH the program folders of its prefix (`bin`, `lib` ...), never the prefix itself: beside
`~/.cargo/bin` are credentials.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from agiraph.storage.home import user_home

ROOTS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
STORES = ("/nix/store", "/gnu/store", "/run/current-system/sw")
ETC = (
    *("passwd", "group", "nsswitch.conf", "hosts", "host.conf", "gai.conf", "resolv.conf"),
    *("services", "protocols", "localtime", "timezone", "locale.alias", "locale.conf"),
    *("ssl/certs", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf"),
    *("pki/tls/certs", "pki/tls/cert.pem", "pki/ca-trust", "crypto-policies"),
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "os-release", "mime.types"),
    *("bash.bashrc", "inputrc", "terminfo", "fonts", "magic", "paperspecs", "perl", "python3"),
)
PROGRAM_FOLDERS = ("bin", "sbin", "lib", "lib64", "libexec", "include", "shims", "condabin")
VENV_FILE = "pyvenv.cfg"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The visible parts of the machine: links unchanged (path, target), the rest read-only."""

    links: tuple[tuple[str, str], ...]
    readable: tuple[Path, ...]


@lru_cache(maxsize=8)
def toolchain(path: str) -> Toolchain:
    """Return the tools that a command with this PATH may use; looked up once per process."""
    roots = [root for root in ROOTS if os.path.exists(root)]
    links = tuple((root, os.readlink(root)) for root in roots if os.path.islink(root))
    folders = [Path(root) for root in roots if not os.path.islink(root)]
    folders += [Path(store) for store in STORES if os.path.isdir(store)]
    system = tuple(folders)
    folders += [file for name in ETC if (file := Path("/etc", name)).exists()]
    for entry in dict.fromkeys(path.split(os.pathsep)):
        folders += [one for one in prefix_of(Path(entry)) if not _is_in(one, system)]
    return Toolchain(links, tuple(dict.fromkeys(folders)))


def prefix_of(entry: Path) -> Iterator[Path]:
    """Yield the folders that a folder of programs needs: the program folders of its prefix.

    For a virtual environment, also those of its base Python. A folder that this user may not enter
    (after su, sudo, in cron) is left out, like a missing folder: `os.path` reports no error.
    """
    if not entry.is_absolute() or not os.path.isdir(entry) or _is_too_wide(entry):
        return
    yield entry
    prefix = entry.parent
    if entry.name not in PROGRAM_FOLDERS or prefix in (user_home(), Path("/")):
        return
    yield from (prefix / name for name in PROGRAM_FOLDERS if os.path.isdir(prefix / name))
    settings = prefix / VENV_FILE
    if os.path.isfile(settings):
        yield settings
        yield from _base_of(settings)


def _is_too_wide(entry: Path) -> bool:
    """Whether a folder on PATH contains more than programs: a home, or a parent of homes."""
    entry = entry.resolve()
    return user_home().resolve().is_relative_to(entry) or entry in (Path("/etc"), Path("/tmp"))


def _base_of(settings: Path) -> Iterator[Path]:
    """Yield the program folders of the base Python of a virtual environment."""
    text = settings.read_text(encoding="utf-8", errors="replace")  # plain: beside the person's PATH
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home":
            yield from prefix_of(Path(value.strip()))


def _is_in(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
