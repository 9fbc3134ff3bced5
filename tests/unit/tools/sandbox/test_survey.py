"""The walk through an input folder: its findings, and links that it never follows."""

from pathlib import Path

import pytest

from agiraph.tools.sandbox import survey as surveys
from agiraph.tools.sandbox.survey import survey


def put(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def paths(folder: Path) -> list[str]:
    return [one.path for one in survey(folder).found]


def test_files_are_found_at_any_depth_and_repositories_are_not_entered(tmp_path: Path) -> None:
    put(tmp_path, ".git/config", "a/b/.envrc", "a/.vscode/tasks.json", "a/.vscode/.git/x", "a/z")
    put(tmp_path, "bare/HEAD", "bare/objects/x", "bare/refs/x", "bare/hooks/.envrc")
    assert paths(tmp_path) == [".git", "a/.vscode", "a/b/.envrc", "bare"]


def test_only_repositories_in_installed_packages_are_reported(tmp_path: Path) -> None:
    put(tmp_path, "node_modules/x/.npmrc", "node_modules/x/.git/config", "env/pyvenv.cfg")
    put(tmp_path, "env/lib/x/.vscode/tasks.json", "env/lib/.git")
    assert paths(tmp_path) == ["env/lib/.git", "node_modules/x/.git"]


def test_empty_git_folder_is_not_reported(tmp_path: Path) -> None:
    (tmp_path / "sub" / ".git").mkdir(parents=True)
    assert paths(tmp_path) == []


def test_no_link_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    put(outside, ".git/config")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(outside)
    (inside / ".git").symlink_to(outside / ".git")
    [found] = survey(inside).found
    assert (found.path, found.is_link) == (".git", True)


def test_a_file_that_is_replaced_has_another_inode(tmp_path: Path) -> None:
    put(tmp_path, ".envrc", "new")
    [before] = survey(tmp_path).found
    (tmp_path / "new").rename(tmp_path / ".envrc")
    [after] = survey(tmp_path).found
    assert before.inode != after.inode


def test_other_names_of_a_file_are_found_by_its_inode(tmp_path: Path) -> None:
    put(tmp_path, ".git/config", "sub/x")
    (tmp_path / "sub" / "other").hardlink_to(tmp_path / ".git" / "config")
    inode = (tmp_path / ".git" / "config").stat().st_ino
    assert survey(tmp_path, frozenset({inode})).same == ("sub/other",)


@pytest.mark.parametrize("limit", ["MOST_FOLDERS", "MOST_LEVELS", "MOST_FOUND"])
def test_early_end_of_a_walk_has_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(surveys, limit, 2)
    put(tmp_path, *(f"a/b{number}/c/.envrc" for number in range(4)))
    found = survey(tmp_path)
    assert "more than 2" in found.gap
    assert len(found.found) <= 2


def test_name_that_is_not_utf8_ends_the_walk(tmp_path: Path) -> None:
    put(tmp_path, "\udcff/.envrc")
    assert "is not UTF-8" in survey(tmp_path).gap
