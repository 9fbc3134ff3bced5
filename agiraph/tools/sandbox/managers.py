"""Managers: where tool managers keep the real programs, and which of their folders are shown.

A prefix is a folder with `bin` and what its programs need. A prefix in a known layout (`LAYOUTS`)
is recognized by its files; only the listed folders of it are shown, because credentials, settings
and downloads are stored beside them. A folder of shims is replaced on PATH by the folders of the
selected versions: pyenv, rbenv, nodenv (`versions/`), asdf and mise (`installs/`), rustup. The
shims themselves would need the manager's settings.
"""

import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agiraph.storage.home import user_home
from agiraph.tools.sandbox.programs import head_of

PROGRAM_FOLDERS = ("bin", "sbin", "lib", "lib64", "libexec", "include", "condabin")
VENV_FILE = "pyvenv.cfg"
MOST_BYTES = 100_000
MOST_ENTRIES = 2_000
"""The most entries of a folder that are read: programs, versions, tools."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A known kind of prefix.

    `marks` are files by which a prefix of this kind is recognized (patterns, all must exist); its
    `folders` are shown besides `PROGRAM_FOLDERS`.
    """

    name: str
    marks: tuple[str, ...]
    folders: tuple[str, ...] = ()


LAYOUTS = (
    Layout(
        "conda",
        ("conda-meta/history",),
        ("share", "ssl", "etc/fonts", "x86_64-conda-linux-gnu", "aarch64-conda-linux-gnu"),
    ),
    Layout(
        "homebrew",
        ("Cellar", "bin/brew"),
        ("Cellar", "opt", "share", "etc/ca-certificates", "etc/openssl@3/cert.pem"),
    ),
    Layout("python", ("lib/python3*/os.py",)),
    Layout("node", ("lib/node_modules/npm/package.json",)),
    Layout("rust", ("lib/rustlib",)),
    Layout(
        "go",
        ("src/runtime/runtime.go",),
        ("src", "pkg/include", "pkg/tool", "VERSION", "go.env"),
    ),
    Layout("java", ("lib/modules",), ("conf", "jmods", "release")),
    Layout("java", ("jre/lib/rt.jar",), ("jre", "release")),
)
VENDORS = tuple(
    f"/opt/{name}"
    for name in ("google/chrome", "microsoft/msedge", "microsoft/powershell", "brave.com/brave")
)
"""Folders of programs that are linked from the system's, shown as a whole."""

LANGUAGES = {"pyenv": "python", "rbenv": "ruby", "nodenv": "node", "goenv": "go", "jenv": "java"}


def layout_of(prefix: Path) -> Layout | None:
    """Return the known layout of a prefix, None if it has none."""
    return next((one for one in LAYOUTS if all(_has(prefix, mark) for mark in one.marks)), None)


def _has(prefix: Path, mark: str) -> bool:
    folder, star, rest = mark.partition("*")
    if not star:
        return os.path.exists(prefix / mark)
    parent, _, beginning = folder.rpartition("/")
    names = (name for name in names_in(prefix / parent) if name.startswith(beginning))
    return any(os.path.exists(f"{prefix}/{parent}/{name}{rest}") for name in names)


def folders_of(prefix: Path) -> list[Path]:
    """Return the shown folders of a prefix: those with programs, and those of its layout."""
    layout = layout_of(prefix)
    names = (*PROGRAM_FOLDERS, *(layout.folders if layout else ()))
    return [prefix / name for name in names if os.path.exists(prefix / name)]


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder of the machine, sorted; [] if it cannot be read."""
    try:
        with os.scandir(folder) as found:  # plain: programs of the machine
            return sorted(entry.name for entry, _ in zip(found, range(MOST_ENTRIES), strict=False))
    except OSError:
        return []


# --- shims ----------------------------------------------------------------------------------------


def real_folders(entry: Path, input_dir: Path | None) -> list[Path]:
    """Return the folders that a folder on PATH stands for: itself, unless it contains shims.

    The version is selected by files of the input folder, else by the person's files.
    """
    root = entry.parent
    if entry.name == "shims":
        if os.path.isdir(root / "versions"):
            return list(_of_versions(root, input_dir))
        return list(_of_installs(root / "installs", input_dir))
    if os.path.exists(entry / "rustup"):
        return [*_of_rustup(root.parent), entry]
    return [entry]


def _of_versions(root: Path, input_dir: Path | None) -> Iterator[Path]:
    """Yield the program folders of the versions that pyenv, or a similar manager, selects."""
    language = LANGUAGES.get(root.name.lstrip("."), "")
    local = f".{language}-version"
    files = [input_dir / local] if input_dir and language else []
    for file in (*files, user_home() / local, root / "version"):
        names = _text(file).replace(":", " ").split()
        found = [_version(root / "versions", name) for name in names if name != "system"]
        if names:
            yield from (version / "bin" for version in found if version is not None)
            return


def _of_installs(installs: Path, input_dir: Path | None) -> Iterator[Path]:
    """Yield the program folders of each tool's selected, else newest version (asdf, mise)."""
    wanted = _wanted_tools(input_dir)
    for tool in names_in(installs):
        names = wanted.get(tool) or ["latest"]
        found = (_version(installs / tool, name) for name in names if name != "system")
        for version in filter(None, found):
            yield from _programs_of(version)


def _programs_of(version: Path) -> Iterator[Path]:
    """Yield the folders with programs of an installed version: `bin`, else where they are."""
    for folder in (version / "bin", version / "go" / "bin"):
        if os.path.isdir(folder):
            yield folder
            return
    for folder in (version, *(version / name for name in names_in(version))):
        if any(is_program(f"{folder}/{name}") for name in names_in(folder)):
            yield folder


def is_program(path: str | Path) -> bool:
    """Whether a path leads to a file that may be executed."""
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _wanted_tools(input_dir: Path | None) -> dict[str, list[str]]:
    """Return the versions of each tool that files of asdf and mise select."""
    home = user_home()
    wanted: dict[str, list[str]] = {}
    for folder in filter(None, (input_dir, home)):
        for line in _text(folder / ".tool-versions").splitlines():
            tool, *versions = line.partition("#")[0].split() or [""]
            wanted.setdefault(tool, versions)
        for file in (folder / "mise.toml", folder / ".config" / "mise" / "config.toml"):
            tools = _toml(file).get("tools")
            for tool, value in tools.items() if isinstance(tools, dict) else ():
                wanted.setdefault(tool, list(_versions_in(value)))
    return wanted


def _versions_in(value: Any) -> Iterator[str]:
    for one in value if isinstance(value, list) else [value]:
        version = one.get("version") if isinstance(one, dict) else one
        if isinstance(version, str):
            yield version


def _of_rustup(parent: Path) -> Iterator[Path]:
    """Yield the program folder of rustup's default toolchain, else of its newest."""
    for root in (parent / ".rustup", parent / "rustup", user_home() / ".rustup"):
        toolchains = root / "toolchains"
        wanted = _toml(root / "settings.toml").get("default_toolchain")
        version = _version(toolchains, wanted) if isinstance(wanted, str) else None
        version = version or _version(toolchains, "latest")
        if version is not None:
            yield version / "bin"
            return


def _version(folder: Path, name: str) -> Path | None:
    """Return the folder of the version `name`, or of the newest that begins with it, else None."""
    if "/" in name or name.startswith("."):
        return None  # the file that names it may be the input folder's
    if os.path.isdir(folder / name):
        return folder / name
    beginnings = () if name == "latest" else (f"{name}.", f"{name}-")
    found = [one for one in names_in(folder) if not beginnings or one.startswith(beginnings)]
    found = [one for one in found if not one.startswith(".") and os.path.isdir(folder / one)]
    return folder / max(found, key=_rank) if found else None


def _rank(version: str) -> tuple[list[int], str]:
    return [int(number) for number in re.findall(r"\d+", version)], version


def _text(file: Path) -> str:
    """Return the text of a small settings file, '' if it cannot be read."""
    return head_of(file, MOST_BYTES).decode("utf-8", "replace")


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(file))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def base_of_venv(settings: Path) -> Path | None:
    """Return the folder of the Python that a virtual environment is based on."""
    for line in _text(settings).splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home" and value.strip().startswith("/"):
            return Path(value.strip())
    return None
