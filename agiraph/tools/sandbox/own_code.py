"""The program's own code, which its helper processes in the sandbox must see."""

import sys
from pathlib import Path
from typing import Final

import agiraph

PACKAGES: Final = ("site-packages", "dist-packages")


def own_code() -> list[Path]:
    """Return the folders with the code of Agiraph: the package, and the packages it imports."""
    folders = (Path(entry) for entry in sys.path if entry)
    found = [folder for folder in folders if folder.name in PACKAGES and folder.is_dir()]
    return [Path(agiraph.__file__).parent, *dict.fromkeys(found)]
