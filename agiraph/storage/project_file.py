"""The file `.agiraph.toml` of a project: defaults for the options of `agiraph run`, and the home.

A model's shell may have written it, or it came with another person's repository. So it may only set
the keys listed here, name only files beside it, and choose only among homes in the person's own
home directory: a home contains settings, among them commands that are run.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agiraph.core.errors import InvalidInput, unknown
from agiraph.storage.files import read_bytes, status_of
from agiraph.storage.home import HOME_VARIABLE, default_home, expanded, user_home
from agiraph.storage.walk import UnsafeFile

NAME: Final = ".agiraph.toml"
MOST_BYTES: Final = 100_000
HOMES: Final = ".agiraph"
TEXT: Final = (str,)
NUMBER: Final = (str, int, float)
RUN_KEYS: Final[dict[str, tuple[type, ...]]] = {
    **dict.fromkeys(("model", "worker-model", "input", "plan", "mode", "when-spent"), TEXT),
    **dict.fromkeys(("budget", "timeout", "cycle"), NUMBER),
}
SEVERAL: Final = ("budget",)
BESIDE: Final = ("input", "plan")
CALLS_TOOLS: Final = "replay"


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """The settings of a project file: the home, and options of `run` by long name, as text."""

    path: Path
    home: Path | None
    run: Mapping[str, str | list[str]]


def chosen_home() -> Path:
    """Return the home that AGIRAPH_HOME names, else the project file, else `~/.agiraph`.

    Raises InvalidInput for an invalid project file.
    """
    file = None if os.environ.get(HOME_VARIABLE) else project_file()
    return (file.home if file is not None else None) or default_home()


def project_file(folder: Path | None = None) -> ProjectFile | None:
    """Return the project file of a folder (the current one) or the nearest above it, or None.

    The search ends at the person's home directory. Files of other users are ignored. Raises
    InvalidInput, which names the file and the key.
    """
    try:
        start = (folder or Path.cwd()).resolve()
    except OSError:  # the current folder was deleted
        return None
    for place in (start, *start.parents):
        status = status_of(place / NAME)
        if status is not None and status.st_uid == os.geteuid():
            return _read(place / NAME)
        if place == user_home().resolve():
            break
    return None


def _read(path: Path) -> ProjectFile:
    import tomllib  # most commands find no file

    try:
        values = tomllib.loads(read_bytes(path, MOST_BYTES).decode())
    except UnsafeFile as error:
        raise InvalidInput(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: is not TOML ({error})") from None
    run = values.pop("run", {})
    if not isinstance(run, dict):
        raise InvalidInput(f"{path}: run: expected a table, [run]")
    _refuse_unknown(path, "", values, ("home", "run"))
    _refuse_unknown(path, "run.", run, RUN_KEYS)
    home = _home(path, values["home"]) if "home" in values else None
    return ProjectFile(path, home, {key: _value(path, key, run[key]) for key in run})


def _refuse_unknown(path: Path, table: str, values: Mapping[str, Any], known: Any) -> None:
    for key in values:
        if key not in known:
            error = unknown("key", f"{table}{key}", [f"{table}{one}" for one in known])
            raise InvalidInput(f"{path}: {error}")


def _home(path: Path, value: Any) -> Path:
    """Return the path of a home.

    Raises InvalidInput if it is not `~/.agiraph` or `~/.agiraph-NAME`. A home inside the project
    could bring settings that the person has not made.
    """
    home = expanded(value) if isinstance(value, str) else Path()
    if home.parent != user_home() or not home.name.startswith(HOMES):
        raise InvalidInput(
            f"{path}: home: {value!r} is not in your home directory (possible: ~/.agiraph, "
            "~/.agiraph-NAME; --home and AGIRAPH_HOME may name any)"
        )
    return home


def _value(path: Path, key: str, value: Any) -> str | list[str]:
    """Return the value of the option `key` as text, or a list of texts, as on the command line.

    Raises InvalidInput for a value of a wrong type.
    """
    where, kinds = f"{path}: run.{key}", RUN_KEYS[key]
    for one in value if isinstance(value, list) and key in SEVERAL else [value]:
        if isinstance(one, bool) or not isinstance(one, kinds):
            wanted = "a text" if kinds is TEXT else "a text or a number"
            raise InvalidInput(f"{where}: {one!r} is not {wanted}")
    if isinstance(value, list):
        return [str(one) for one in value]
    if key in BESIDE:
        return str(_beside(path.parent, str(value), where))
    if key.endswith("model") and str(value).rpartition(":")[2].partition("/")[0] == CALLS_TOOLS:
        raise InvalidInput(f"{where}: a replay would call tools as a file says; possible: --model")
    return str(value)


def _beside(folder: Path, value: str, where: str) -> Path:
    """Return the path `value` below `folder`, with links resolved.

    Raises InvalidInput, which begins with `where`, for a path that leads out of `folder`.
    """
    found = (folder / value).resolve()
    if not found.is_relative_to(folder):
        raise InvalidInput(f"{where}: '{value}' is not in {folder}, where this file is")
    return found
