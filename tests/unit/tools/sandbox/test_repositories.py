"""The paths that a repository's configuration names."""

from pathlib import Path

import pytest

from agiraph.tools.sandbox.git_commands import Setting
from agiraph.tools.sandbox.repositories import named_paths


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = tmp_path.resolve() / "shop"
    for name in ("tools/clean", "hook.py", "log/x", ".husky/_/x", "team.config", "sub/x"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).touch()
    return top


def named(top: Path, key: str, value: str, origin: str = ".git/config") -> list[str]:
    found = named_paths([Setting(key, value, origin)], top, top.parent)
    return [
        f"{one.path.relative_to(top.parent)}{' (missing)' if one.is_missing else ''}"
        for one in found
    ]


@pytest.mark.parametrize(
    ("key", "value", "paths"),
    [
        ("core.hookspath", ".husky/_", ["shop/.husky/_"]),
        ("core.hookspath", ".hooks", ["shop/.hooks (missing)"]),
        ("core.hookspath", "~/hooks", ["hooks (missing)"]),
        ("include.path", "../team.config", ["shop/team.config"]),
        ("includeif.onbranch:x.path", "../x.config", ["shop/x.config (missing)"]),
        ("filter.x.clean", "./tools/clean %f", ["shop/tools/clean"]),
        ("filter.x.smudge", "./tools/smudge", ["shop/tools/smudge (missing)"]),
        ("filter.x.process", "git-lfs filter-process", []),
        ("core.fsmonitor", "python3 hook.py --all", ["shop/hook.py"]),
        ("core.fsmonitor", "true", []),
        ("core.sshcommand", "ssh -F tools/clean", ["shop/tools/clean"]),
        ("core.pager", "LESS=x tools/clean;less", ["shop/tools/clean"]),
        ("alias.lg", "log --oneline", []),
        ("alias.run", "!sh 'tools/clean' x", ["shop/tools/clean"]),
        ("alias.odd", "!sh 'tools/clean", ["shop/tools/clean"]),
        ("gpg.program", "bin/gpg", ["shop/bin/gpg (missing)"]),
        ("credential.helper", "!sh -e cred.sh", ["shop/cred.sh (missing)"]),
        ("mergetool.x.cmd", "python3 lib/m.py", ["shop/lib/m.py (missing)"]),
        ("filter.x.clean", "sed s/a/b/g", []),
        ("core.editor", "code --wait", []),
        ("core.pager", "less -R", []),
        ("notes.displayref", "refs/notes/x", []),
        ("safe.directory", "./sub", []),
        ("remote.origin.url", "./sub", []),
        ("remote.origin.uploadpack", "./sub/x", ["shop/sub/x"]),
        ("branch.main.remote", ".", []),
        ("submodule.sub.url", "./sub", []),
        ("submodule.sub.update", "!./sub/x", ["shop/sub/x"]),
    ],
)
def test_paths_named_by_a_setting_are_found(
    top: Path, key: str, value: str, paths: list[str]
) -> None:
    assert named(top, key, value) == paths


def test_included_path_is_relative_to_the_including_file(top: Path) -> None:
    assert named(top, "include.path", "team.config", "sub/x") == ["shop/sub/team.config (missing)"]
