"""Protected files of an input folder, and the reasons for a read-only folder."""

import os
from pathlib import Path

import pytest

from agiraph.storage.home import input_at_start
from agiraph.tools.sandbox import input_guard
from agiraph.tools.sandbox.input_guard import (
    InputBaseline,
    InputGuard,
    guard_of,
    ignores_case,
    look_at,
    own_programs,
)
from agiraph.tools.sandbox.repositories import NotGuarded


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    folder = tmp_path.resolve() / "shop"
    (folder / "src").mkdir(parents=True)
    return folder


def mounts(folder: Path, baseline: InputBaseline | None = None) -> list[tuple[str, str]]:
    guard = InputGuard(baseline or look_at(folder))
    return [(str(one.path.relative_to(folder)), one.kind) for one in guard.mounts()]


def test_plain_folder_has_only_a_placeholder_for_git(folder: Path) -> None:
    assert mounts(folder) == [(".git", "stand_in")]


def test_a_folder_above_a_protected_file_cannot_be_renamed(folder: Path) -> None:
    (folder / "src" / "deep").mkdir()
    (folder / "src" / "deep" / ".envrc").touch()
    assert mounts(folder) == [
        (".git", "stand_in"),
        ("src", "pin"),
        ("src/deep", "pin"),
        ("src/deep/.envrc", "read"),
    ]


@pytest.mark.parametrize(
    ("link", "target", "kind"),
    [
        (".vscode", "conf/editor", "read"),
        (".claude/settings.json", "../conf/settings.json", "read"),
        (".envrc", "conf/missing", "stand_in"),
    ],
)
def test_the_target_of_a_link_is_protected(folder: Path, link: str, target: str, kind: str) -> None:
    (folder / "conf" / "editor").mkdir(parents=True)
    (folder / "conf" / "settings.json").touch()
    (folder / link).parent.mkdir(exist_ok=True)
    (folder / link).symlink_to(target)
    found = mounts(folder)
    assert ("conf", "pin") in found
    assert (os.path.normpath(Path(link).parent / target), kind) in found


def test_a_link_to_the_folder_itself_cannot_be_protected(folder: Path) -> None:
    (folder / ".vscode").symlink_to(".")
    assert "link to the folder itself" in look_at(folder).why_read_only


def test_files_removed_or_created_during_the_run_change_the_mounts(folder: Path) -> None:
    (folder / ".envrc").touch()
    baseline = look_at(folder)
    (folder / ".envrc").unlink()
    assert mounts(folder, baseline) == [(".git", "stand_in")]
    (folder / ".git").mkdir()
    assert mounts(folder, baseline) == [(".git", "stand_in")], "it is empty"
    (folder / ".git" / "HEAD").touch()
    assert mounts(folder, baseline) == [(".git", "read")]


def test_folder_replaced_by_a_link_is_not_writable(folder: Path) -> None:
    (folder / "src" / ".envrc").touch()
    baseline = look_at(folder)
    (folder / "src").rename(folder / "other")
    (folder / "src").symlink_to("other")
    assert mounts(folder, baseline) == []


def test_new_file_is_reported_once(folder: Path) -> None:
    (folder / ".envrc").touch()
    guard = InputGuard(look_at(folder))
    assert guard.news() == ()
    (folder / "src" / ".npmrc").touch()
    (folder / "new").touch()
    (folder / "new").rename(folder / ".envrc")
    assert [one.path for one in guard.news()] == [".envrc", "src/.npmrc"]
    assert guard.news() == ()


def test_outer_files_are_protected_and_changes_of_the_others_are_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_guard, "MOST_OTHERS", 2)
    for name in ("a/b/.vscode/deep", ".idea", "a/b", "a", "."):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / ".npmrc").touch()
    guard = InputGuard(look_at(folder))
    assert {one.path.name for one in guard.mounts() if one.kind == "read"} == {".npmrc", ".idea"}
    assert guard.news() == ()
    inner = folder / "a/b/.vscode/deep/.npmrc"
    inner.write_text("script-shell = x")
    os.utime(inner, ns=(0, 0))
    assert [one.path for one in guard.news()] == ["a/b/.vscode"]
    (folder / "a/.npmrc").write_text("")
    assert [one.path for one in guard.news()] == ["a/.npmrc"]


def test_a_bare_repository_around_a_repository_does_not_make_all_read_only(folder: Path) -> None:
    for name in (".git/config", "HEAD", "objects/x", "refs/x"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    assert mounts(folder) == [(".git", "read")]


def test_run_keeps_its_first_baseline(folder: Path, tmp_path: Path) -> None:
    run = tmp_path.resolve() / "agent" / "runs" / "r1"
    first = guard_of(run, folder)
    (folder / ".envrc").touch()
    input_guard._guard_of.cache_clear()  # another process
    assert guard_of(run, folder).baseline == first.baseline
    assert guard_of(run.with_name("r2"), folder).baseline.known.keys() == {".envrc"}


def test_a_torn_record_is_made_again(folder: Path, tmp_path: Path) -> None:
    run = tmp_path.resolve() / "agent" / "runs" / "r1"
    file = input_at_start(run)
    file.parent.mkdir(parents=True)
    file.write_text('{"folder": ')
    assert guard_of(run, folder).folder == folder
    assert InputBaseline.model_validate_json(file.read_bytes()).folder == str(folder)


@pytest.mark.parametrize(
    ("why", "make"),
    [
        ("symbolic link", lambda at: (at / ".git").symlink_to("x")),
        ("symbolic link", lambda at: (at / "src" / ".git").symlink_to("x")),
        (
            "itself a git repository",
            lambda at: [(at / one).touch() for one in ("HEAD", "commondir")],
        ),
        ("home folder", lambda at: os.environ.update(HOME=str(at / "src"))),
        ("on your PATH", lambda at: os.environ.update(PATH=f"/usr/bin:{at}")),
    ],
)
def test_a_folder_that_cannot_be_protected_is_read_only(
    folder: Path, why: str, make: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "PATH"):
        monkeypatch.setenv(name, os.environ[name])  # restored at the end
    make(folder)  # type: ignore[operator]
    baseline = look_at(folder)
    assert why in baseline.why_read_only
    assert mounts(folder, baseline) == []
    assert InputGuard(baseline).news() == ()


def test_programs_on_the_path_and_of_agiraph_are_protected(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".venv" / "bin").mkdir(parents=True)
    monkeypatch.setattr("sys.prefix", str(folder / ".venv"))
    path = f"{folder}/.venv/bin:{folder}/missing:/usr/bin"
    assert list(own_programs(folder, path)) == [".venv", ".venv/bin"]
    monkeypatch.setenv("PATH", path)
    assert (".venv", "read") in mounts(folder)
    for unguardable in (str(folder), "/usr/bin:node_modules/.bin", "/usr/bin:", ".:/usr/bin"):
        with pytest.raises(NotGuarded, match="PATH"):
            list(own_programs(folder, unguardable))


def test_commands_of_git_that_may_run_files_are_in_the_baseline_without_a_repository(
    folder: Path,
) -> None:
    person = folder.parent / "person"
    person.mkdir()
    (person / ".gitconfig").write_text(
        "[alias]\n\tst = !cd tools && ./st\n\tci = commit\n[core]\n\tpager = less -FRX\n"
    )
    assert look_at(folder).git_commands == ("alias.st = !cd tools && ./st",)


def test_a_file_system_that_ignores_case_is_recognized(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not ignores_case(folder)
    real = os.path.lexists
    monkeypatch.setattr(
        "agiraph.tools.sandbox.input_guard.os.path.lexists",
        lambda path: real(path) or real(Path(path).with_name(Path(path).name.swapcase())),
    )
    assert ignores_case(folder)
    assert "upper and lower case" in look_at(folder).why_read_only
