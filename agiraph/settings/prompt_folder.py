"""The folders of prompts: a person's own folder, `{home}/prompts`, overrides the shipped one.

A file there replaces the shipped file of the same name (`coordinator.md`, `tools/bash.md`); other
files are as shipped. The process that renders prompts sets its home once, at its start; before
that, and in the command line, the shipped texts are used.
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
    """Let the prompts in `folder` override the shipped ones, in this process from now on."""
    _own[:] = [folder] if folder.is_dir() else []


def folders() -> tuple[Path, ...]:
    """Return the folders of prompts, in order of precedence."""
    return (*_own, shipped())


def read(name: str) -> str:
    """Return the unrendered text of a prompt (`tools/bash.md`). Raises OSError."""
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
    """Return a prompt file's text; cached until `_changed_at`, its change time, differs."""
    return read_text(Path(path))
