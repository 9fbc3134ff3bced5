"""`read_file` of images and PDF files: shown, scaled, and refused with a reason."""

import io
import os
import struct
import zlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from agiraph.core.turns import Picture, ToolTurn
from agiraph.tools.pictures import rendering
from agiraph.tools.pictures.store import KEPT, PictureStore
from tests.unit.tools.entity_tools import EntityTools

Image: Any = pytest.importorskip("PIL.Image")
pdfium: Any = pytest.importorskip("pypdfium2")


def image(path: Path, width: int = 60, height: int = 40, mode: str = "RGB", **more: Any) -> None:
    Image.new(mode, (width, height), "red").save(path, **more)


def noise(path: Path, width: int, height: int) -> None:
    Image.frombytes("RGB", (width, height), os.urandom(width * height * 3)).save(path)


def png_header(width: int, height: int) -> bytes:
    """Return a small PNG that claims to have this size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(b"\0" * 10_000)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


def pdf(path: Path, pages: int = 2) -> None:
    """Write a PDF file whose pages have a line of text each."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%b] /Count %d >>"
        % (b" ".join(b"%d 0 R" % (4 + 2 * n) for n in range(pages)), pages),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number in range(pages):
        text = b"BT /F1 24 Tf 72 700 Td (This is page %d.) Tj ET" % (number + 1)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * number)
        )
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(text), text))
    made, places = io.BytesIO(b"%PDF-1.4\n"), []
    made.seek(0, io.SEEK_END)
    for number, one in enumerate(objects, 1):
        places.append(made.tell())
        made.write(b"%d 0 obj\n%b\nendobj\n" % (number, one))
    start = made.tell()
    made.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    made.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    made.write(b"trailer << /Size %d /Root 1 0 R >>\n" % (len(objects) + 1))
    made.write(b"startxref\n%d\n%%%%EOF\n" % start)
    path.write_bytes(made.getvalue())


def stored(entity: EntityTools, result: ToolTurn) -> Any:
    """Return the stored picture of a result, decoded."""
    (picture,) = result.pictures
    store = PictureStore(entity.run.worker("ada-1").pictures)
    found = Image.open(io.BytesIO(store.load([picture])[picture.digest]))
    assert found.size == (picture.width, picture.height)
    assert found.get_format_mimetype() == picture.media_type
    return found


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.png", "PNG"), ("a.jpg", "JPEG"), ("a.gif", "GIF"), ("a.webp", "WEBP")],
)
async def test_an_image_is_shown(entity: EntityTools, name: str, kind: str) -> None:
    image(entity.input / name)
    result = await entity.call("read_file", path=f"input/{name}")
    assert result.content == f"input/{name}: {kind} image, 60 x 40 pixels."
    assert not result.is_error
    red, green, blue = stored(entity, result).convert("RGB").getpixel((30, 20))
    assert (red > 240, green < 20, blue < 20) == (True, True, True)


async def test_a_large_image_is_scaled_down_to_limited_bytes(entity: EntityTools) -> None:
    noise(entity.input / "large.png", 2000, 1000)
    result = await entity.call("read_file", path="input/large.png")
    (picture,) = result.pictures
    assert (
        result.content
        == f"input/large.png: PNG image, 2000 x 1000 pixels, scaled to {picture.width} x "
        f"{picture.height}."
    )
    assert picture.width * picture.height <= 1_200_000
    assert picture.media_type == "image/jpeg"
    store = PictureStore(entity.run.worker("ada-1").pictures)
    assert len(store.load([picture])[picture.digest]) <= 512 * 1024


async def test_an_image_of_odd_form_keeps_a_pixel(entity: EntityTools) -> None:
    image(entity.input / "line.png", 30_000, 1)
    result = await entity.call("read_file", path="input/line.png")
    assert (result.pictures[0].width, result.pictures[0].height) == (1568, 1)


async def test_transparent_parts_are_white(entity: EntityTools) -> None:
    Image.new("RGBA", (10, 10), (0, 0, 0, 0)).save(entity.input / "clear.png")
    result = await entity.call("read_file", path="input/clear.png")
    assert stored(entity, result).getpixel((5, 5)) == (255, 255, 255)


async def test_an_image_with_16_bits_a_pixel_keeps_its_shades(entity: EntityTools) -> None:
    Image.new("I;16", (10, 10), 128 * 256).save(entity.input / "deep.png")
    result = await entity.call("read_file", path="input/deep.png")
    assert stored(entity, result).convert("L").getpixel((5, 5)) == 128


async def test_a_photo_is_turned_upright(entity: EntityTools) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    image(entity.input / "a.jpg", exif=exif)
    result = await entity.call("read_file", path="input/a.jpg")
    assert result.content == "input/a.jpg: JPEG image, 40 x 60 pixels."
    assert stored(entity, result).size == (40, 60)


async def test_a_page_of_a_pdf_is_shown_with_its_text(entity: EntityTools) -> None:
    pdf(entity.input / "report.pdf")
    first = await entity.call("read_file", path="input/report.pdf")
    assert first.content == (
        "input/report.pdf: page 1 of 2 of a PDF file; `page` selects another.\n\nThis is page 1."
    )
    second = await entity.call("read_file", path="input/report.pdf", page=2)
    assert "This is page 2." in second.content
    (picture,) = second.pictures
    assert picture.name == "report.pdf, page 2"
    assert picture.height > picture.width > 800
    assert stored(entity, second).convert("L").getextrema() == (0, 255)


async def test_the_name_of_a_file_does_not_decide_its_kind(entity: EntityTools) -> None:
    image(entity.input / "chart.txt", format="PNG")
    (entity.input / "text.png").write_text("a,b\n")
    assert (await entity.call("read_file", path="input/chart.txt")).pictures
    result = await entity.call("read_file", path="input/text.png")
    assert (result.content, result.pictures) == ("a,b\n", ())


HOSTILE: Mapping[str, tuple[bytes, str]] = {
    "bomb.png": (png_header(60_000, 60_000), "60000 x 60000 pixels, more than 64,000,000"),
    "truncated.png": (png_header(2000, 2000), "damaged"),
    "broken.jpg": (b"\xff\xd8\xff\xe0" + b"x" * 100, "damaged"),
    "broken.webp": (b"RIFF\xff\xff\xff\xffWEBPVP8 ", "damaged"),
    "broken.gif": (b"GIF89a\xff\xff\xff\xff\xff\xff", "damaged"),
    "broken.pdf": (b"%PDF-1.7\n" + b"x" * 100, "damaged"),
    "empty.png": (b"", "it is empty (0 bytes)"),
    "empty.pdf": (b"", "it is empty (0 bytes)"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_file_is_refused_with_the_reason(entity: EntityTools, name: str) -> None:
    data, reason = HOSTILE[name]
    (entity.input / name).write_bytes(data)
    result = await entity.call("read_file", path=f"input/{name}")
    assert (result.is_error, result.pictures) == (True, ())
    assert f"'input/{name}'" in result.content
    assert reason in result.content
    assert "\n" not in result.content


async def test_a_page_that_does_not_exist_is_refused(entity: EntityTools) -> None:
    pdf(entity.input / "report.pdf")
    result = await entity.call("read_file", path="input/report.pdf", page=3)
    assert "it has no page 3 (possible: 1 to 2)" in result.content
    image(entity.input / "a.png")
    result = await entity.call("read_file", path="input/a.png", page=3)
    assert "has no pages" in result.content


async def test_a_file_that_is_too_long_is_not_decoded(entity: EntityTools) -> None:
    with (entity.input / "long.png").open("wb") as file:
        file.write(png_header(10, 10))
        file.truncate(1 << 30)
    result = await entity.call("read_file", path="input/long.png")
    assert "more than 33,554,432" in result.content


async def test_pipes_and_links_out_of_scope_are_refused(
    entity: EntityTools, tmp_path: Path
) -> None:
    image(tmp_path / "secret.png")
    os.mkfifo(entity.node.scratch / "pipe.png")
    (entity.node.scratch / "out.png").symlink_to(tmp_path / "secret.png")
    for path, reason in (("pipe.png", "not a regular file"), ("out.png", "may not be read")):
        result = await entity.call("read_file", path=path)
        assert (result.is_error, reason in result.content) == (True, True), result.content


async def test_a_decoder_that_dies_fails_the_call(
    entity: EntityTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    image(entity.input / "a.png")
    monkeypatch.setattr("agiraph.tools.pictures.rendering.sys.executable", "/bin/false")
    result = await entity.call("read_file", path="input/a.png")
    assert "exceeds the memory or the time for decoding" in result.content


async def test_a_missing_extra_is_named(
    entity: EntityTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(name: str) -> object:
        return None if name == "PIL" else find_spec(name)

    monkeypatch.setattr(rendering, "find_spec", without)
    image(entity.input / "a.png")
    result = await entity.call("read_file", path="input/a.png")
    assert result.content == (
        "'input/a.png' (PNG) cannot be shown: the extra `images` is not installed here "
        "(pip install 'agiraph[images]')"
    )


@pytest.mark.parametrize("kind", ["missing", "changed", "pipe", "link"])
def test_a_stored_picture_that_is_not_the_same_is_not_shown(tmp_path: Path, kind: str) -> None:
    store = PictureStore(tmp_path)
    path = tmp_path / store.add(b"first")
    path.unlink()
    match kind:
        case "changed":
            path.write_bytes(b"other")
        case "pipe":
            os.mkfifo(path)
        case "link":
            (tmp_path / "other").write_bytes(b"first")
            path.symlink_to(tmp_path / "other")
        case _:
            pass
    picture = Picture(digest=path.name, media_type="image/png", name="a", width=1, height=1)
    assert store.load([picture]) == {}


def test_the_oldest_pictures_are_removed_from_the_store(tmp_path: Path) -> None:
    store = PictureStore(tmp_path / "pictures")
    first = store.add(b"first")
    for number in range(KEPT):
        store.add(b"%d" % number)
    names = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert len(names) == KEPT
    assert first not in names


async def test_an_image_of_a_ref_is_shown(entity: EntityTools) -> None:
    published = entity.run.node("other").published
    published.mkdir(parents=True)
    image(published / "chart.png")
    place = published.relative_to(entity.run.path).as_posix()
    entity.refs = {"chart": place}
    alone = await entity.call("read_ref", name="chart")
    assert (alone.content, len(alone.pictures)) == ("chart.png: PNG image, 60 x 40 pixels.", 1)
    pdf(published / "report.pdf")
    both = await entity.call("read_ref", name="chart")
    assert both.pictures == ()
    assert "No file is text: name an image with `file`" in both.content
    page = await entity.call("read_ref", name="chart", file="report.pdf", page=2)
    assert ("This is page 2." in page.content, len(page.pictures)) == (True, 1)
