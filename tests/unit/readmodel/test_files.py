"""The file browser: its contents, and that no path leads outside."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.http.api import ApiError, FileContentView, FolderView
from agiraph.readmodel.files import READ_LIMIT, browse


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("secret")
    root = tmp_path / "run"
    (root / "nodes" / "a" / "published").mkdir(parents=True)
    (root / "nodes" / "a" / "published" / "out.md").write_text("# Out\n")
    return root


def read(root: Path, path: str, offset: int = 0, limit: int = READ_LIMIT) -> FileContentView:
    found = browse(root, path, offset, limit)
    assert isinstance(found, FileContentView)
    return found


def status(root: Path, path: str) -> int:
    with pytest.raises(ApiError) as refused:
        browse(root, path)
    return refused.value.status


def test_folders_and_files_are_shown(root: Path) -> None:
    top = browse(root, "")
    assert isinstance(top, FolderView)
    assert [(entry.name, entry.kind) for entry in top.entries] == [("nodes", "folder")]
    assert read(root, "nodes/a/published/out.md").content == "# Out\n"
    inner = browse(root, "nodes//a/./published/")
    assert isinstance(inner, FolderView)
    assert inner.entries[0].path == "nodes/a/published/out.md"


@pytest.mark.parametrize("path", ["..", "../secret.txt", "nodes/../../secret.txt", "a/..", "/etc"])
def test_dots_and_absolute_paths_are_refused(root: Path, path: str) -> None:
    assert status(root, path) == 403


@pytest.mark.parametrize("name", [b"caf\xe9.txt", b"a\nb.txt", b"tab\there", b"\x1b[31mred"])
def test_odd_names_are_escaped_and_read_by_their_escapes(root: Path, name: bytes) -> None:
    folder = root / "odd" / os.fsdecode(name)
    folder.mkdir(parents=True)
    (folder / os.fsdecode(name)).write_text("odd")
    listed = browse(root, "odd", depth=2)
    assert isinstance(listed, FolderView)
    path = listed.entries[-1].path
    assert path.isprintable()
    assert read(root, path).content == "odd"
    assert read(root, path).path == path


@pytest.mark.parametrize(
    "path", [r"\x2e\x2e/secret.txt", r"nodes/\x2e\x2e\x2f\x2e\x2e\x2fsecret.txt", r"a\x00b"]
)
def test_escaped_path_cannot_leave_the_root(root: Path, path: str) -> None:
    assert status(root, path) in (403, 404)


def test_links_are_shown_and_never_followed(root: Path) -> None:
    (root / "file").symlink_to(root.parent / "secret.txt")
    (root / "folder").symlink_to(root.parent)
    (root / "loop").symlink_to("loop")
    (root / "inner").symlink_to("nodes")
    top = browse(root, "")
    assert isinstance(top, FolderView)
    assert {entry.name for entry in top.entries if entry.kind == "link"} == {
        "file",
        "folder",
        "loop",
        "inner",
    }
    for path in ("file", "folder", "folder/secret.txt", "loop", "inner", "inner/a"):
        assert status(root, path) == 403, path


def test_a_root_that_became_a_link_is_refused(root: Path) -> None:
    root.rename(root.parent / "moved")
    root.symlink_to(root.parent)
    assert status(root, "secret.txt") == 403


def test_irregular_or_missing_path_is_refused(root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert status(root, "pipe") == 403
    assert status(root, "nodes/a/published/out.md/deeper") == 404
    assert status(root, "nothing") == 404
    assert status(root, "n" * 300) == 404
    assert status(root, "a\0b") == 403


def test_a_long_file_is_read_in_stretches_that_cut_no_character(root: Path) -> None:
    text = "aü€😀" * 50
    (root / "long.txt").write_text(text, encoding="utf-8")
    for limit in (4, 5, 6, 7, 64):
        seen, offset = "", 0
        while True:
            piece = read(root, "long.txt", offset, limit)
            assert piece.encoding == "utf-8"
            seen += piece.content
            offset += piece.returned
            if not piece.is_truncated:
                break
        assert seen == text


def test_binary_file_is_returned_as_base64(root: Path) -> None:
    (root / "x.bin").write_bytes(b"\xff\x00")
    found = read(root, "x.bin")
    assert (found.encoding, found.content, found.size) == ("base64", "/wA=", 2)


def test_name_that_is_not_utf8_does_not_break_the_listing(root: Path) -> None:
    name = os.fsencode(root) + b"/bad\xff.txt"
    with open(name, "wb"):
        pass
    top = browse(root, "")
    assert isinstance(top, FolderView)
    assert top.model_dump_json()


PARTS = st.sampled_from(["..", ".", "", "nodes", "a", "link", "up", "secret.txt", "%2e%2e", "\0"])


@given(parts=st.lists(PARTS, max_size=6))
def test_path_outside_the_root_is_not_shown(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    base = tmp_path_factory.getbasetemp() / "outside"
    root = base / "run"
    if not root.exists():
        (root / "nodes" / "a").mkdir(parents=True)
        (base / "secret.txt").write_text("secret")
        (root / "link").symlink_to(base / "secret.txt")
        (root / "nodes" / "up").symlink_to(base)
    try:
        found = browse(root, "/".join(parts))
    except ApiError:
        return
    assert "secret" not in found.model_dump_json()
