"""Writing the results of a run: names with a meaning for a person's git or editor."""

from pathlib import Path
from typing import Any, cast

import pytest

from cli.run import deliverables as module
from cli.run.deliverables import Delivered, Destination, deliver


def delivered(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> Delivered:
    files = {name: f"nodes/x/published/{name}" for name in names}
    monkeypatch.setattr(module, "deliverables", lambda *_: files)
    monkeypatch.setattr(module, "_pieces", lambda *_: iter((b"content",)))
    to = Destination(folder, is_folder=True, may_replace=False)
    return deliver(cast(Any, None), "a", "r", "answer", to)


@pytest.mark.parametrize("git", [".git", ".GIT", ".gIt", "GIT~1", ".git ", ".g\u200cit", ".git:x"])
@pytest.mark.parametrize("name", ["{}", "{}/config", "x/{}/hooks/pre-commit", "x/.envrc/{}/y"])
def test_git_files_are_not_written_in_any_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git: str, name: str
) -> None:
    found = delivered(tmp_path / "out", monkeypatch, "report.md", name.format(git))
    written = sorted(path.name for path in (tmp_path / "out").rglob("*"))
    assert written == ["_output.md", "report.md"]
    [*_, note] = found.notes
    assert note.startswith("not written, because git runs programs from it: ")
    assert git in note


def test_autorun_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = ("b/HEAD", "b/objects/x", "b/refs/heads/main")
    names = ("a/.vscode/tasks.json", "a/.vscode/x", ".npmrc", "a/.gitignore", "Makefile")
    found = delivered(tmp_path / "out", monkeypatch, *names, *bare)
    assert len(found.written) == 9
    assert found.notes[-1] == "look at these, because of which programs run: b, a/.vscode, .npmrc"


def test_a_long_list_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = delivered(tmp_path / "out", monkeypatch, *(f"{n}/.git/config" for n in range(12)))
    assert found.notes[-1].endswith("9/.git and 2 more")
