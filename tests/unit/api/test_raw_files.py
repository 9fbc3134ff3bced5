"""Raw files: ranges as RFC 9110 has them, ETags, and nothing that a browser would run."""

import asyncio
import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse
from starlette.types import Message

from agiraph.api.served_files import raw_file
from agiraph.api.zipped import zipped_folder
from agiraph.http.errors import ApiError
from agiraph.readmodel.media_types import kind_of

DATA = b"0123456789"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("run")
    (root / "digits.txt").write_bytes(DATA)
    (root / "empty.txt").write_bytes(b"")
    (root / "page.html").write_text("<script>alert(1)</script>")
    (root / "folder").mkdir()
    (root / "way out").symlink_to("/etc/passwd")
    return root


def served(response: Response) -> tuple[int, dict[str, str], bytes]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError("nothing is read")

    asyncio.run(response({"type": "http", "method": "GET"}, receive, send))
    body = b"".join(part.get("body", b"") for part in sent[1:])
    assert not sent[-1].get("more_body", False)
    headers = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
    return sent[0]["status"], headers, body


def ask(root: Path, path: str = "digits.txt", **headers: str) -> tuple[int, dict[str, str], bytes]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return served(raw_file(root, path, Headers(named)))


def test_whole_file_is_served_with_its_etag(root: Path) -> None:
    status, headers, body = ask(root)
    assert (status, body) == (200, DATA)
    assert headers["content-length"] == "10"
    assert headers["accept-ranges"] == "bytes"
    assert headers["x-content-type-options"] == "nosniff"
    assert ask(root, if_none_match=headers["etag"])[0] == 304
    assert ask(root, if_none_match=f'"x", W/{headers["etag"]}')[0] == 304
    assert ask(root, if_none_match='"other"')[0] == 200


def test_a_file_that_changed_has_another_etag(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    before = ask(tmp_path, "a.txt")[1]["etag"]
    (tmp_path / "a.txt").write_text("three")
    assert ask(tmp_path, "a.txt", if_none_match=before)[0] == 200
    assert ask(tmp_path, "a.txt", range="bytes=0-0", if_range=before)[0] == 200


@given(first=st.none() | st.integers(0, 15), last=st.none() | st.integers(0, 15))
def test_a_range_is_that_part_of_the_file_or_refused(
    root: Path, first: int | None, last: int | None
) -> None:
    asked = f"bytes={'' if first is None else first}-{'' if last is None else last}"
    status, headers, body = ask(root, range=asked)
    if first is None and last is None:
        assert (status, body) == (200, DATA)
        return
    if first is None:
        assert last is not None
        wanted = DATA[max(0, 10 - last) :] if last else b""
    else:
        wanted = DATA[first : 10 if last is None else last + 1]
    if not wanted:
        assert status == 416
        assert headers["content-range"] == "bytes */10"
        return
    assert (status, body) == (206, wanted)
    assert headers["content-length"] == str(len(wanted))
    start = DATA.index(wanted)
    assert headers["content-range"] == f"bytes {start}-{start + len(wanted) - 1}/10"


def test_several_ranges_and_other_units_get_the_whole_file(root: Path) -> None:
    for asked in ("bytes=0-1,3-4", "lines=1-2", "bytes=x-y", "bytes=0-" + "9" * 5000):
        assert ask(root, range=asked)[::2] == (200, DATA)


def test_an_empty_file_has_no_range(root: Path) -> None:
    assert ask(root, "empty.txt")[::2] == (200, b"")
    assert ask(root, "empty.txt", range="bytes=0-")[0] == 416


def test_head_request_returns_only_headers(root: Path) -> None:
    status, headers, body = served(raw_file(root, "digits.txt", Headers({}), is_head=True))
    assert (status, headers["content-length"], body) == (200, "10", b"")


def test_active_content_is_served_as_a_sandboxed_attachment(root: Path) -> None:
    _, headers, _ = ask(root, "page.html")
    assert headers["content-disposition"] == "attachment; filename*=UTF-8''page.html"
    assert "sandbox" in headers["content-security-policy"]


@pytest.mark.parametrize(
    ("name", "media_type", "is_attachment"),
    [
        ("a.md", "text/markdown; charset=utf-8", False),
        ("a.PNG", "image/png", False),
        ("a.py", "text/plain; charset=utf-8", False),
        ("a.js", "text/plain; charset=utf-8", False),
        ("a.svg", "image/svg+xml", True),
        ("a.pdf", "application/pdf", True),
        ("a.exe", "application/octet-stream", True),
        ("no-suffix", "application/octet-stream", True),
    ],
)
def test_the_type_follows_from_the_name(name: str, media_type: str, is_attachment: bool) -> None:
    kind = kind_of(name)
    assert (kind.media_type, kind.is_attachment) == (media_type, is_attachment)


@pytest.mark.parametrize(
    ("path", "status"),
    [("folder", 409), ("way out", 403), ("../x", 403), ("/etc/passwd", 403), ("nothing", 404)],
)
def test_path_outside_the_files_of_the_run_is_refused(root: Path, path: str, status: int) -> None:
    with pytest.raises(ApiError) as error:
        raw_file(root, path, Headers({}))
    assert error.value.status == status


def test_a_folder_that_is_too_large_is_not_zipped(tmp_path: Path) -> None:
    (tmp_path / "big.bin").write_bytes(bytes(2048))
    with pytest.raises(ApiError, match="1 files of 2048 bytes") as refused:
        zipped_folder(tmp_path, "", 1024)
    assert refused.value.status == 413


async def test_a_zip_file_has_nothing_called_git(tmp_path: Path) -> None:
    for name in ("a/.git/config", "a/.GIT/x", "a/.gitignore", "b/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    response = zipped_folder(tmp_path, "", 1024)
    assert isinstance(response, StreamingResponse)
    data = b"".join([bytes(chunk) async for chunk in response.body_iterator])  # type: ignore[arg-type]
    assert zipfile.ZipFile(io.BytesIO(data)).namelist() == ["a/.gitignore", "b/x"]
