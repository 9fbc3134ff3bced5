"""Ref paths: where a worker finds the published files of its refs, relative to its folder. Pure."""

import re
from collections.abc import Mapping
from typing import Final

REFS: Final = "refs"
"""The folder that contains a folder for each ref."""
LONGEST: Final = 60
WHOLE: Final = 3
"""The parts of the path of a whole `nodes/{folder}/published`."""


def ref_paths(refs: Mapping[str, str]) -> dict[str, str]:
    """Return, for each ref name, the path of its files: `refs/NAME`, or `refs/NAME/FILE`.

    `refs` maps ref names to paths under the run, `nodes/{folder}/published[/...]`. A ref name is
    free text of a model: in the path it has only letters, digits, `.`, `_` and `-`, and no other
    ref's spelling.
    """
    paths: dict[str, str] = {}
    taken: set[str] = set()
    for name, target in refs.items():
        plain = re.sub(r"[^\w.-]+", "-", name)[:LONGEST].strip(".-") or "ref"
        folder, number = plain, 1
        while folder.casefold() in taken:
            number += 1
            folder = f"{plain}-{number}"
        taken.add(folder.casefold())
        parts = target.rstrip("/").split("/")
        inner = parts[-1:] if len(parts) > WHOLE else []
        paths[name] = "/".join((REFS, folder, *inner))
    return paths
