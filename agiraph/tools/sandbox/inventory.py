"""Inventory: the well-known programs of a PATH, with versions that need no process to find out."""

import os
import re
import shutil
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from agiraph.tools.sandbox.programs import head_of

KNOWN = (
    *("python3", "pip", "uv", "node", "npm", "git", "rg", "jq", "make", "cmake", "gcc", "clang"),
    *("cargo", "go", "java", "mvn", "ruby", "php", "perl", "R", "psql", "sqlite3", "curl", "wget"),
    *("ffmpeg", "convert", "pandoc", "pdftotext", "pdflatex", "chromium", "google-chrome"),
)
"""Programs that are named if they are found, in this order."""

PACKAGES = ("pytest", "numpy", "pandas", "matplotlib", "requests")
"""Packages of Python that are named if they are installed beside it."""

MOST_BYTES = 2_000


@lru_cache(maxsize=8)
def inventory(path: str) -> tuple[str, ...]:
    """Return the known programs of a PATH, such as `python3 3.11 (with pytest)`, `node 22.1.0`."""
    found = ((name, shutil.which(name, path=path)) for name in KNOWN)
    return tuple(_described(name, os.path.realpath(place), place) for name, place in found if place)


def _described(name: str, real: str, place: str) -> str:
    version = "".join(list(_versions(name, Path(real)))[:1])
    words = [name, version] if version else [name]
    if name == "python3" and version and (packages := _packages(place, version)):
        words.append(f"(with {', '.join(packages)})")
    return " ".join(words)


def _versions(name: str, real: Path) -> Iterator[str]:
    """Yield the version of a program, if its path or a file beside it tells the version."""
    prefix = real.parent.parent
    match name:
        case "python3":
            yield from re.findall(r"^python(\d+\.\d+)$", real.name)
        case "node":
            yield from re.findall(r"^v(\d+\.\d+\.\d+)$", prefix.name)
            header = _text(prefix / "include/node/node_version.h")
            if numbers := re.findall(r"^#define NODE_M\w+_VERSION (\d+)$", header, re.MULTILINE):
                yield ".".join(numbers[:2])
        case "go":
            yield from re.findall(r"^go(\d+\.\d+(?:\.\d+)?)", _text(prefix / "VERSION"))
        case "java":
            yield from re.findall(
                r'^JAVA_VERSION="([\d.]+)', _text(prefix / "release"), re.MULTILINE
            )


def _packages(place: str, version: str) -> list[str]:
    """Return which of PACKAGES are installed for a Python and its environment."""
    prefixes = {os.path.dirname(os.path.dirname(one)) for one in (place, os.path.realpath(place))}
    folders = [f"{one}/lib/python{version}/site-packages" for one in sorted(prefixes)]
    folders += [f"/usr/local/lib/python{version}/dist-packages", "/usr/lib/python3/dist-packages"]
    if not place.startswith("/usr/"):
        folders = folders[: len(prefixes)]
    return [one for one in PACKAGES if any(os.path.isdir(f"{at}/{one}") for at in folders)]


def _text(file: Path) -> str:
    return head_of(file, MOST_BYTES).decode("utf-8", "replace")
