"""The folders and the socket of a home, made private before anything is put into them."""

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from agiraph.errors import Refused
from agiraph.storage.home import Home

SOCKET = "router.sock"
LONGEST_SOCKET = 100


def make_folders(home: Home) -> None:
    """Make the home and its private folders; raises OSError, or Refused if one is not ours."""
    home.path.mkdir(parents=True, exist_ok=True)
    for folder in (home.system.path, home.system.logs, home.human.path, home.agents):
        make_private(folder)


def make_private(folder: Path) -> None:
    """Make a folder that only we may enter, or close one that is ours; raises Refused."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise Refused(f"{folder} is not a folder of ours")
    if stat.S_IMODE(status.st_mode) & 0o077:
        folder.chmod(0o700)


def socket_url(home: Home) -> str:
    """Return the router's url: in the home, or in a short temporary folder if that is too long."""
    folder = home.system.sockets
    if len(os.fsencode(folder / SOCKET)) > LONGEST_SOCKET:
        name = hashlib.blake2b(os.fsencode(home.path), digest_size=8).hexdigest()
        folder = Path(tempfile.gettempdir()) / f"agiraph-{os.getuid()}-{name}"
    make_private(folder)
    (folder / SOCKET).unlink(missing_ok=True)
    return f"ipc://{folder / SOCKET}"
