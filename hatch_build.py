"""Build hook: puts the other top folders under agiraph/_bundled, so a wheel owns one safe name.

Generic names (`cli`, `actors`) must not land in a user's site-packages, where any other
distribution may overwrite them. Editable installs are left alone: there the repository root is
on the path.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUNDLED = ("actors", "transport", "cli", "configs")


class BundleHook(BuildHookInterface):  # type: ignore[type-arg]
    """Force-include the bundled folders into a standard wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add `actors transport cli configs` under `agiraph/_bundled/` of the wheel."""
        if version == "editable":
            return
        for folder in BUNDLED:
            root = Path(self.root, folder)
            for path in sorted(root.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    inside = path.relative_to(self.root)
                    build_data["force_include"][str(path)] = f"agiraph/_bundled/{inside}"
