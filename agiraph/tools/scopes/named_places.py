"""Named places: links in an entity's folder, so that its commands find the same files as its tools.

`input/data.csv` and `notebook.md` are in other folders, where the file tools look for them. A
command that opens the same relative path finds a link. The published files of a ref are in `refs/`
of the node's folder, again as a link, which all tools follow. `nodes/` has no link: each node's
folder would contain all others, and programs that follow links would not end.
"""

import os
from contextlib import suppress
from pathlib import Path

from agiraph.storage.copies import make_link
from agiraph.storage.files import status_of
from agiraph.tools.scopes.rules import WorkerScopeRules
from agiraph.tools.scopes.scope import Scope


def link_named_places(scope: Scope) -> None:
    """Make the missing links in the folder of a scope; a file of the entity is never replaced.

    A link that cannot be made is left out: a command must be able to mend its own folder.
    """
    if isinstance(scope.rules, WorkerScopeRules) and scope.rules.node is not None:
        for path, place in scope.rules.ref_places.items():
            _link(scope.rules.node / path, place)
    for name, place in scope.places.items():
        with suppress(OSError):
            if status_of(place) is not None:
                _link(scope.cwd / name, place)


def _link(path: Path, place: Path) -> None:
    with suppress(OSError):
        if status_of(path) is None:
            make_link(path, os.path.relpath(place, path.parent))


def pytest_options(scope: Scope) -> str:
    """Return options for PYTEST_ADDOPTS: a plain `pytest` runs no tests behind these links."""
    return " ".join(f"--ignore={name}" for name in scope.places)
