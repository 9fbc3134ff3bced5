"""Build hook: puts the other top folders under agiraph/_bundled, so a wheel owns one safe name.

Generic names (`cli`, `actors`) must not land in a user's site-packages, where any other
distribution may overwrite them. Editable installs are left alone: there the repository root is
on the path.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUNDLED = ("actors", "transport", "cli", "configs")
LEFT_OUT = Path("configs", "sample")  # what `make run` surveys in a checkout
WEB_UI = Path("frontend", "dist")  # there after `make ui`; without it a wheel has no web UI


class BundleHook(BuildHookInterface):  # type: ignore[type-arg]
    """Force-include the bundled folders into a standard wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add `actors transport cli configs`, and `ui` if built, under `agiraph/_bundled/`."""
        if version == "editable":
            return
        included = build_data["force_include"]
        for folder in BUNDLED:
            root = Path(self.root, folder)
            if not root.is_dir():
                raise FileNotFoundError(f"{root} is missing: a wheel without it could not run")
            for path in sorted(root.rglob("*")):
                inside = path.relative_to(self.root)
                is_wanted = not inside.is_relative_to(LEFT_OUT) and not _is_litter(inside)
                if path.is_file() and is_wanted:
                    included[str(path)] = f"agiraph/_bundled/{inside}"
        page = Path(self.root, WEB_UI)
        for path in sorted(page.rglob("*")):
            inside = path.relative_to(page)
            if path.is_file() and not _is_litter(inside):
                included[str(path)] = f"agiraph/_bundled/ui/{inside}"


def _is_litter(path: Path) -> bool:
    """Whether a file is a cache's or an editor's; force-included files pass no ignore rules."""
    return any(part.startswith(".") or part == "__pycache__" for part in path.parts) or (
        path.suffix in (".pyc", ".swp", ".orig", ".rej") or path.name.endswith("~")
    )
