"""Publishing: the files of scratch/ are moved to published/, after a crash at any step."""

import os
import stat
from pathlib import Path

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.storage import copies, files
from agiraph.storage.home import NodeHome
from agiraph.tools.scopes.publishing import files_left, publish_files

FILES = {"a.md": b"A", "sub/b.md": b"B", "sub/deep/c d.bin": b"\0C"}


@pytest.fixture
def node(tmp_path: Path) -> NodeHome:
    made = NodeHome(tmp_path / "node")
    for name, content in FILES.items():
        file = made.scratch / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return made


def published(node: NodeHome) -> dict[str, bytes]:
    return {
        file.relative_to(node.published).as_posix(): file.read_bytes()
        for file in node.published.rglob("*")
        if file.is_file()
    }


def test_unusual_names_are_published_unchanged_and_reported_with_escapes(node: NodeHome) -> None:
    name = os.fsdecode(b"caf\xe9\n.txt")
    (node.scratch / name).write_bytes(b"odd")
    assert r"caf\xe9\n.txt" in files_left(node)
    assert r"caf\xe9\n.txt" in publish_files(node, "done")
    assert published(node)[name] == b"odd"


def test_published_files_are_moved_and_read_only(node: NodeHome) -> None:
    assert publish_files(node, "done") == ("a.md", "sub/b.md", "sub/deep/c d.bin")
    assert published(node) == FILES
    assert not [path for path in node.scratch.rglob("*") if path.is_file()]
    for name in FILES:
        assert stat.S_IMODE((node.published / name).stat().st_mode) & 0o222 == 0


def test_publishing_twice_has_no_further_effect(node: NodeHome) -> None:
    assert publish_files(node, "done") == publish_files(node, "done")
    assert published(node) == FILES


def test_the_summary_is_published_if_there_is_nothing_else(tmp_path: Path) -> None:
    node = NodeHome(tmp_path / "node")
    (node.scratch / "repo").mkdir(parents=True)
    (node.scratch / "repo" / "code.py").touch()
    for _ in range(2):
        assert publish_files(node, "It is 4.", ("repo",)) == ("summary.md",)
    assert published(node) == {"summary.md": b"It is 4.\n"}


@pytest.mark.parametrize("dies_at", range(12))
def test_publishing_is_completed_after_a_crash_at_any_step(
    node: NodeHome, dies_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.link(node.scratch / "a.md", node.scratch / "also-a.md")
    steps = 0

    def dying(act: object) -> object:
        def step(*args: object, **kwargs: object) -> object:
            nonlocal steps
            steps += 1
            if steps == dies_at + 1:
                raise KeyboardInterrupt
            return act(*args, **kwargs)  # type: ignore[operator]

        return step

    with monkeypatch.context() as patch:
        for act in (files.move, copies.copy_file, files.remove_file, files.set_mode):
            patch.setattr(f"agiraph.tools.scopes.publishing.{act.__name__}", dying(act))
        try:
            publish_files(node, "done")
        except KeyboardInterrupt:
            pass
    assert publish_files(node, "done") == ("a.md", "also-a.md", "sub/b.md", "sub/deep/c d.bin")
    assert published(node) == {**FILES, "also-a.md": b"A"}


def test_links_and_pipes_are_not_published(node: NodeHome, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (node.scratch / "leak").symlink_to(secret)
    (node.scratch / "folder").symlink_to(tmp_path)
    os.mkfifo(node.scratch / "pipe")
    assert publish_files(node, "done") == ("a.md", "sub/b.md", "sub/deep/c d.bin")
    assert secret.exists()
    assert not (node.published / "leak").is_symlink()


def test_a_file_with_a_second_name_is_copied(node: NodeHome, tmp_path: Path) -> None:
    original = tmp_path / "original.csv"
    original.write_text("1,2")
    os.link(original, node.scratch / "copy.csv")
    publish_files(node, "done")
    original.write_text("changed")
    assert (node.published / "copy.csv").read_text() == "1,2"
    assert os.access(original, os.W_OK)


@pytest.mark.parametrize("name", ["scratch", "published"])
def test_a_folder_that_became_a_link_is_refused(tmp_path: Path, name: str) -> None:
    node = NodeHome(tmp_path / "node")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x").write_text("x")
    node.path.mkdir()
    (node.path / name).symlink_to(elsewhere)
    with pytest.raises(InvalidInput, match=f"{name}/ is a symbolic link"):
        publish_files(node, "done")
    assert (elsewhere / "x").exists()


def test_link_inside_published_is_refused(node: NodeHome, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    node.published.mkdir()
    (node.published / "sub").symlink_to(elsewhere)
    with pytest.raises(InvalidInput, match="sub is a symbolic link"):
        publish_files(node, "done")
    assert not list(elsewhere.rglob("*.md"))


def test_a_program_stays_runnable(node: NodeHome) -> None:
    (node.scratch / "a.md").chmod(0o755)
    publish_files(node, "done")
    assert stat.S_IMODE((node.published / "a.md").stat().st_mode) == 0o555


def test_files_with_an_excluded_name_stay_in_scratch(node: NodeHome) -> None:
    for name in (".git/HEAD", ".aider.chat", "sub/.git/kept"):
        (node.scratch / name).parent.mkdir(parents=True, exist_ok=True)
        (node.scratch / name).write_text("x")
    but = (".git", ".aider*")
    published = publish_files(node, "done", but)
    assert "sub/.git/kept" in published, "only names in scratch/ itself are meant"
    assert not {".git/HEAD", ".aider.chat"} & set(published)
    assert files_left(node) == (".aider.chat", ".git/HEAD")
    assert files_left(node, but) == ()
