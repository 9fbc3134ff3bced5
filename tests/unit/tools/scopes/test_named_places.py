"""Built-in names in the folder of an entity's commands stay links to their files."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agiraph.core.ids import WorkerId
from agiraph.storage.files import MOST_BYTES
from agiraph.tools.scopes.named_places import link_named_places
from agiraph.tools.scopes.scope import Scope
from tests.unit.tools.scopes.home_layout import HomeLayout

Makes = Callable[[Path], None]


def _file(path: Path) -> None:
    path.write_text("new")


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, MOST_BYTES + 1)


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "inner").write_text("new")


def _foreign_link(path: Path) -> None:
    path.symlink_to("draft.md")


def _replaced(scope: Scope, name: str, makes: Makes) -> str:
    """Link the names, replace one link, restore it; return the note."""
    assert link_named_places(scope) == ""
    (scope.cwd / name).unlink()
    makes(scope.cwd / name)
    note = link_named_places(scope)
    assert (scope.cwd / name).resolve() == scope.to_read(name)
    assert (scope.cwd / name).is_symlink()
    assert link_named_places(scope) == ""
    return note


def _moved(scope: Scope, name: str) -> list[Path]:
    return list(scope.cwd.glob(f"{name}.moved-*"))


@pytest.mark.parametrize("name", ["notebook.md", "memory.md", "identity.md"])
def test_a_file_in_place_of_a_workers_own_file_becomes_its_content(
    layout: HomeLayout, name: str
) -> None:
    scope = layout.worker()
    assert _replaced(scope, name, _file) == ""
    assert scope.to_read(name).read_text() == "new"
    assert _moved(scope, name) == []


def test_a_file_in_place_of_the_agents_memory_becomes_its_content(layout: HomeLayout) -> None:
    scope = layout.coordinator()
    assert _replaced(scope, "MEMORY.md", _file) == ""
    assert layout.agent.memory_file.read_text() == "new"


def test_a_new_file_with_a_built_in_name_becomes_the_missing_file(layout: HomeLayout) -> None:
    layout.agent.memory_file.unlink()
    scope = layout.coordinator()
    _file(scope.cwd / "MEMORY.md")
    assert link_named_places(scope) == ""
    assert layout.agent.memory_file.read_text() == "new"
    assert (scope.cwd / "MEMORY.md").is_symlink()


@pytest.mark.parametrize("name", ["_spec.md", "_plan.md", "input", "shared", "_messages"])
@pytest.mark.parametrize("makes", [_file, _folder, os.mkfifo])
def test_an_entry_in_place_of_a_name_that_is_only_read_is_moved(
    layout: HomeLayout, name: str, makes: Makes
) -> None:
    scope = layout.worker()
    note = _replaced(scope, name, makes)
    (moved,) = _moved(scope, name)
    assert f"`{name}` is now `{moved.name}`" in note


@pytest.mark.parametrize("makes", [_huge, _folder, os.mkfifo])
def test_an_entry_that_cannot_be_the_notebook_is_moved(layout: HomeLayout, makes: Makes) -> None:
    scope = layout.worker()
    before = scope.to_read("notebook.md").read_text()
    note = _replaced(scope, "notebook.md", makes)
    (moved,) = _moved(scope, "notebook.md")
    assert f"`notebook.md` is now `{moved.name}`" in note
    assert scope.to_read("notebook.md").read_text() == before


@pytest.mark.parametrize("name", ["notebook.md", "_spec.md", "input"])
def test_a_foreign_link_is_replaced_and_not_followed(layout: HomeLayout, name: str) -> None:
    scope = layout.worker()
    draft = (scope.cwd / "draft.md").read_text()
    assert _replaced(scope, name, _foreign_link) == ""
    assert (scope.cwd / "draft.md").read_text() == draft


def test_own_files_of_an_idle_worker_are_not_links(layout: HomeLayout) -> None:
    """Its commands start in the folder of these files."""
    scope = Scope.for_worker(layout.agent, layout.run, WorkerId("ada-111111"), None, None)
    before = (scope.cwd / "notebook.md").read_text()
    assert link_named_places(scope) == ""
    assert not (scope.cwd / "notebook.md").is_symlink()
    assert (scope.cwd / "notebook.md").read_text() == before
