"""The folders and the socket of a home, made private before anything is put into them."""

import hashlib
import os
import tempfile
from pathlib import Path

from agiraph.errors import Refused
from agiraph.storage.files import UnsafeFile, make_folder, make_private_folder, remove_file
from agiraph.storage.home import Home

SOCKET = "router.sock"
LONGEST_SOCKET = 100


def make_folders(home: Home) -> None:
    """Make the home and its private folders; raises OSError, or Refused if one is not ours."""
    make_folder(home.path)
    for folder in (home.system.path, home.system.logs, home.human.path, home.agents):
        make_private(folder)


def make_private(folder: Path) -> None:
    """Make a folder that only we may enter, or close one that is ours; raises Refused."""
    try:
        make_private_folder(folder)
    except UnsafeFile as error:
        raise Refused(f"{folder} is not a folder of ours ({error})") from None


def socket_url(home: Home) -> str:
    """Return the router's url: in the home, or in a short temporary folder if that is too long."""
    folder = home.system.sockets
    if len(os.fsencode(folder / SOCKET)) > LONGEST_SOCKET:
        name = hashlib.blake2b(os.fsencode(home.path), digest_size=8).hexdigest()
        folder = Path(tempfile.gettempdir()).resolve() / f"agiraph-{os.getuid()}-{name}"
    make_private(folder)
    remove_file(folder / SOCKET)
    return f"ipc://{folder / SOCKET}"
