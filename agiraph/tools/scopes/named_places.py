"""Named places: links in an entity's folder, so that its commands find the same files as its tools.

`input/data.csv` and `notebook.md` are in other folders, where the file tools look for them. A
command that opens the same relative path finds a link. The published files of a ref are in `refs/`
of the node's folder, again as a link, which all tools follow. `nodes/` has no link: each node's
folder would contain all others, and programs that follow links would not end.

A command can replace a link (`sed -i`, `mv`): the name would then mean one file for commands and
another one for the file tools. So the links are restored before and after each command.
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from threading import Lock

from agiraph.storage.copies import make_link, read_link
from agiraph.storage.files import move, read_bytes, remove_file, replace_bytes, status_of
from agiraph.storage.walk import kind_of
from agiraph.tools.scopes.rules import WorkerScopeRules
from agiraph.tools.scopes.scope import Scope

_RESTORING = Lock()
"""Held while links are restored: calls of one turn run at the same time."""
MOVED = "[moved] A command cannot replace a built-in name. Your file or folder has a new name"


def link_named_places(scope: Scope) -> str:
    """Make or restore the links in the folder of a scope; return a note for the model, or ''.

    A regular file in place of a link becomes the content of the linked file if commands may write
    that file. A file that cannot be taken, a folder and anything else is renamed to
    `{name}.moved-{8 hexadecimal digits}`, and the note says so. A link that cannot be made is left
    out: a command must be able to mend its own folder.
    """
    if isinstance(scope.rules, WorkerScopeRules) and scope.rules.node is not None:
        for path, place in scope.rules.ref_places.items():
            _link(scope.rules.node / path, place)
    moved: list[str] = []
    with _RESTORING:
        for name, place in scope.places.items():
            entry = scope.cwd / name
            if entry == place:  # an idle worker starts in the folder of its own files
                continue
            with suppress(OSError):
                aside = _restore(entry, place, is_writable=scope.rules.may_write(place))
                moved += [f"`{name}` is now `{aside}`"] if aside else []
    return f"{MOVED}: {', '.join(moved)}." if moved else ""


def _restore(path: Path, place: Path, *, is_writable: bool) -> str:
    """Make `path` a link to `place`, if `place` exists; return the new name of a moved entry."""
    target, status, aside = os.path.relpath(place, path.parent), status_of(path), ""
    is_linked = status_of(place) is not None
    kind = None if status is None else kind_of(status)
    if kind == "link":
        if read_link(path) == target:
            return ""
        remove_file(path)
    elif kind == "file" and is_writable and _take(path, place):
        is_linked = True
    elif kind is not None:
        aside = f"{path.name}.moved-{secrets.token_hex(4)}"
        move(path, path.with_name(aside), is_synced=False)
    if is_linked:
        with suppress(OSError):  # the entry is moved in any case
            make_link(path, target)
    return aside


def _take(path: Path, place: Path) -> bool:
    """Replace the content of `place` by the file at `path`; return False if that is impossible."""
    try:
        replace_bytes(place, read_bytes(path))
    except OSError:
        return False
    return True


def _link(path: Path, place: Path) -> None:
    with suppress(OSError):
        if status_of(path) is None:
            make_link(path, os.path.relpath(place, path.parent))


def pytest_options(scope: Scope) -> str:
    """Return options for PYTEST_ADDOPTS: a plain `pytest` runs no tests behind these links."""
    return " ".join(f"--ignore={name}" for name in scope.places)
