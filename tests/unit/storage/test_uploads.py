"""Uploads: only missing files are requested, they resume, and no path leads outside."""

import os
from hashlib import sha256
from pathlib import Path, PurePosixPath

import pytest

from agiraph.core.errors import InvalidInput, Refused
from agiraph.storage.file_records import FileEntry
from agiraph.storage.transfers import FORGOTTEN_SECONDS
from agiraph.storage.uploads import Upload, Uploads, check_manifest, stays_inside

A, B = b"alpha" * 10, b"beta"


def file(path: str, content: bytes, mode: int = 0o644) -> FileEntry:
    digest = sha256(content).hexdigest() if content else ""
    return FileEntry(path=path, size=len(content), digest=digest, mode=mode)


FILES = [
    file("a.md", A, 0o755),
    FileEntry(path="sub", kind="folder"),
    FileEntry(path="sub/none", kind="folder"),
    file("sub/b.md", B),
    file("sub/empty", b""),
    FileEntry(path="sub/link", kind="link", target="../a.md"),
]


def uploads(tmp_path: Path) -> Uploads:
    return Uploads(tmp_path.resolve() / "inputs", 10, 1000)


def wanted(upload: Upload) -> list[tuple[str, int]]:
    return [(one.path, offset) for one, offset in upload.wanted]


def test_folder_is_uploaded_in_parts_and_resumed_after_a_restart(tmp_path: Path) -> None:
    first = uploads(tmp_path)
    upload = first.declare("My Papers!", FILES)
    assert upload.id.startswith("my-papers-")
    assert (wanted(upload), upload.missing) == ([("a.md", 0), ("sub/b.md", 0)], 54)
    assert first.take(upload.id, 0, A[:20]).missing == 34
    with pytest.raises(Refused, match="declare it again"):
        first.take(upload.id, 0, A)
    with pytest.raises(InvalidInput, match="34 bytes to come"):
        first.take(upload.id, 20, A)
    again = uploads(tmp_path)
    with pytest.raises(Refused, match="declare it again"):
        again.take(upload.id, 20, A[20:])
    assert wanted(again.declare("My Papers!", FILES)) == [("a.md", 20), ("sub/b.md", 0)]
    done = again.take(upload.id, 0, A[20:] + B)
    assert (done.missing, done.received) == (0, 34)
    assert (done.path / "a.md").read_bytes() == A
    assert os.access(done.path / "a.md", os.X_OK)
    assert (done.path / "sub/link").read_bytes() == A
    assert (done.path / "sub/none").is_dir()
    assert (done.path / "sub/empty").read_bytes() == b""
    assert not again.declare("My Papers!", FILES).wanted


def test_content_of_another_upload_is_not_requested_again(tmp_path: Path) -> None:
    known = uploads(tmp_path)
    first = known.declare("papers", FILES)
    known.take(first.id, 0, A + B)
    changed = known.declare("papers", [file("moved/a.md", A), file("new.md", b"new")])
    assert changed.id != first.id
    assert wanted(changed) == [("new.md", 0)]
    assert (changed.path / "moved/a.md").read_bytes() == A
    (first.path / "sub/b.md").write_bytes(b"BETA")  # a team may have written there
    assert wanted(known.declare("papers", [file("b.md", B)])) == [("b.md", 0)]


def test_content_that_differs_from_its_digest_is_refused_and_sent_again(tmp_path: Path) -> None:
    known = uploads(tmp_path)
    upload = known.declare("papers", [file("a.md", A)])
    with pytest.raises(InvalidInput, match=r"'a.md' have the SHA-256 .* send it again"):
        known.take(upload.id, 0, A.upper())
    assert not (upload.path / "a.md").exists()
    assert wanted(known.declare("papers", [file("a.md", A)])) == [("a.md", 0)]


def test_unused_upload_is_removed_later(tmp_path: Path) -> None:
    known = uploads(tmp_path)
    kept, left = (known.declare(name, [file("a", b"")]).path for name in ("kept", "left"))
    now = kept.stat().st_mtime + FORGOTTEN_SECONDS
    known.forget_unused({kept}, now - 10)
    assert left.exists()
    known.forget_unused({kept}, now + 10)
    assert (kept.exists(), left.exists()) == (True, False)


@pytest.mark.parametrize(
    "entry",
    [
        *(file(path, A) for path in ("/etc/x", "../x", "a/../../x", "", "a//b", "a/.", "a\0b")),
        FileEntry(path="l", kind="link", target="/etc"),
        FileEntry(path="l", kind="link", target="../x"),
        FileEntry(path="d/l", kind="link", target="../../x"),
        FileEntry(path="n", kind="folder", size=1),
        FileEntry(path="n", size=1, digest="z" * 64),
        FileEntry(path="n", size=-1),
        file("x" * 300, A),
    ],
    ids=lambda one: f"{one.kind} {one.path[:10]} {one.target}",
)
def test_invalid_entry_is_refused(tmp_path: Path, entry: FileEntry) -> None:
    with pytest.raises(InvalidInput, match=r"is not the path|leads out|needs its|has no content"):
        uploads(tmp_path).declare("papers", [FileEntry(path="d", kind="folder"), entry])
    assert not (tmp_path / "inputs").exists()


def test_link_stays_inside_regardless_of_other_links() -> None:
    deep = PurePosixPath("a/b/l")
    assert all(stays_inside(deep, t) for t in ("x", "./x/y", "../c", "../../top"))
    assert not any(stays_inside(deep, t) for t in ("../../..", "x/..", "../c/../d", "", "/"))


def test_limits_are_named() -> None:
    with pytest.raises(InvalidInput, match=r"2 files and folders, at most 1 .*http.input_files"):
        check_manifest([file("a", A), file("b", B)], 1, 1000)
    with pytest.raises(InvalidInput, match=r"50 bytes, at most 49 .*http.input_bytes"):
        check_manifest([file("a", A)], 1, 49)
    with pytest.raises(InvalidInput, match="is there twice"):
        check_manifest([file("a", A), file("a", B)], 9, 1000)
    with pytest.raises(InvalidInput, match="'a/b' cannot be below 'a', a file"):
        check_manifest([file("a", A), file("a/b", B)], 9, 1000)
