"""Where prompts are read from: a person's own folder, `{home}/prompts`, laid over the shipped one.

A file there stands for the shipped one of the same name (`coordinator.md`, `tools/bash.md`); what
is not there is as shipped. The process that renders prompts says once, at its start, which home it
serves; before that, and in the command line, the shipped texts count.
"""

import os
import stat
from functools import lru_cache
from pathlib import Path

from agiraph.settings.config import configs_folder
from agiraph.settings.yaml_text import read_text

_own: list[Path] = []


def shipped() -> Path:
    """Return the folder of the shipped prompts."""
    return configs_folder() / "prompts"


def lay_over(folder: Path) -> None:
    """Let the prompts in `folder` count before the shipped ones, in this process from now on."""
    _own[:] = [folder] if folder.is_dir() else []


def folders() -> tuple[Path, ...]:
    """Return where prompts are looked for, first come first."""
    return (*_own, shipped())


def read(name: str) -> str:
    """Return the text of a prompt as it is written (`tools/bash.md`); OSError."""
    for folder in folders():
        path = f"{folder}/{name}"
        try:
            found = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        if stat.S_ISREG(found.st_mode):
            return _text(path, found.st_mtime_ns)
    return (shipped() / name).read_text(encoding="utf-8")  # plain: shipped with the package


@lru_cache(maxsize=256)
def _text(path: str, _changed_at: int) -> str:
    """Return a file's text, read once for as long as nobody changes it."""
    return read_text(Path(path))
