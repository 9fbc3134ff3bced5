"""The build hook: a wheel from a checkout contains the web UI, or says why it does not."""

from pathlib import Path
from typing import Any, cast

import pytest

from hatch_build import BUNDLED, NODE, BundleHook

BUILD = """
from pathlib import Path

class CannotBuild(Exception): ...

DIST = Path(__file__).parent / "dist"

def has_node():
    return {has_node}

def is_built():
    return DIST.exists()

def built():
    if not has_node():
        raise CannotBuild("no Node")
    DIST.mkdir()
    (DIST / "index.html").write_text("<html>")
"""


class FakeApp:
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, text: str) -> None:
        self.warnings.append(text)


def hook_at(root: Path, *, has_node: bool) -> tuple[BundleHook, FakeApp]:
    for name in BUNDLED:
        (root / name).mkdir()
    (root / "frontend").mkdir()
    (root / "frontend" / "build.py").write_text(BUILD.format(has_node=has_node))
    app, nothing = FakeApp(), cast(Any, None)
    return BundleHook(str(root), {}, nothing, nothing, "", "wheel", cast(Any, app)), app


@pytest.mark.parametrize("has_node", [True, False])
def test_a_wheel_from_a_checkout_contains_the_web_ui(tmp_path: Path, has_node: bool) -> None:
    hook, app = hook_at(tmp_path, has_node=has_node)
    assert hook.dependencies() == ([] if has_node else [NODE])
    data: dict[str, Any] = {"force_include": {}}
    hook.initialize("standard", data)
    assert ("agiraph/_bundled/ui/index.html" in data["force_include"].values()) is has_node
    assert bool(app.warnings) is not has_node


def test_an_sdist_builds_no_web_ui(tmp_path: Path) -> None:
    hook, app = hook_at(tmp_path, has_node=False)
    (tmp_path / "frontend" / "build.py").unlink()
    hook.initialize("standard", {"force_include": {}})
    assert (hook.dependencies(), app.warnings) == ([], [])
