"""The process that decodes one untrusted image or PDF file.

    stdin: the file    arguments: its kind, the page    stdout: one msgpack map

The answer is `{"ok": true, ...}` or `{"ok": false, "reason": ...}`. The process has limits of
memory and time, runs in the sandbox if that works, and its parent may kill it at any time.
"""

import io
import math
import os
import resource
import sys
from typing import Any, Final

import msgpack

from agiraph.core.naming import error_line

JsonObject = dict[str, Any]

MEMORY_BYTES: Final = 1 << 30
CPU_SECONDS: Final = 20
MOST_PIXELS: Final = 64_000_000
"""Of a file; decoding takes up to eight bytes for each pixel."""
LONGEST_SIDE: Final = 1568
SHOWN_PIXELS: Final = 1_200_000
"""Claude scales larger pictures down, and reads a page of this size."""
LARGEST_ZOOM: Final = 4
PNG_BYTES: Final = 256 * 1024
"""A larger PNG becomes a JPEG."""
PICTURE_BYTES: Final = 512 * 1024
QUALITIES: Final = (85, 70, 50, 30)
TEXT_CHARACTERS: Final = 100_000
ORIENTATION: Final = 0x0112
ON_ITS_SIDE: Final = (5, 6, 7, 8)
SIXTEEN_BITS: Final = ("I", "I;16")
WHITE: Final = (255, 255, 255)


class UnfitFile(Exception):
    """The file cannot be shown; the text is the reason."""


def main(kind: str, page: int) -> None:
    """Decode the file in stdin; write the answer to stdout."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library's output must not get into the answer
    answers.write(msgpack.packb(answer(sys.stdin.buffer.read(), kind, page)))
    answers.flush()


def answer(data: bytes, kind: str, page: int) -> JsonObject:
    """Return the picture of a file, or the reason why it cannot be shown."""
    try:
        return {"ok": True, **(_page(data, page) if kind == "PDF" else _image(data, kind))}
    except UnfitFile as error:
        return {"ok": False, "reason": str(error)}
    except (MemoryError, OverflowError):
        return {"ok": False, "reason": "it takes too much memory"}
    except Exception as error:
        # A decoder may raise any error for untrusted content: the file is reported as unreadable.
        return {"ok": False, "reason": f"it is damaged ({error_line(str(error))})"}


def _image(data: bytes, kind: str) -> JsonObject:
    from PIL import Image, ImageOps, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # checked here, so that the reason names the size
    try:
        opened = Image.open(io.BytesIO(data), formats=[kind])
    except UnidentifiedImageError:  # its text names an object of Python
        raise UnfitFile("it is damaged") from None
    with opened as image:
        width, height = image.size
        if width * height > MOST_PIXELS:
            raise UnfitFile(f"it has {width} x {height} pixels, more than {MOST_PIXELS:,}")
        image.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))  # a large JPEG is decoded smaller
        if image.getexif().get(ORIENTATION, 1) in ON_ITS_SIDE:
            width, height = height, width
        turned = ImageOps.exif_transpose(image)
    return {"file_width": width, "file_height": height, **_encoded(turned)}


def _page(data: bytes, page: int) -> JsonObject:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise UnfitFile("it needs a password") from None
        raise
    pages = len(document)
    if not 1 <= page <= pages:
        raise UnfitFile(f"it has no page {page} (possible: 1 to {pages})")
    opened = document[page - 1]
    width, height = opened.get_size()
    zoom = min(LARGEST_ZOOM, _scale(max(1, width), max(1, height)))
    shown = opened.render(scale=zoom).to_pil()
    text = opened.get_textpage().get_text_range()
    return {"pages": pages, "text": text[:TEXT_CHARACTERS], **_encoded(shown)}


def _scale(width: float, height: float) -> float:
    """Return the factor by which a picture gets the largest size that is shown."""
    return min(LONGEST_SIDE / max(width, height), math.sqrt(SHOWN_PIXELS / (width * height)))


def _encoded(image: Any) -> JsonObject:
    """Return an image as a picture of limited size, transparent parts in white."""
    from PIL import Image

    width, height = image.size
    scale = min(1.0, _scale(width, height))
    size = max(1, int(width * scale)), max(1, int(height * scale))
    if image.mode in SIXTEEN_BITS:  # else all but the darkest pixels would be white
        image = image.point(lambda value: value * (1 / 256)).convert("L")
    has_alpha = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    image = image.convert("RGBA" if has_alpha else "RGB")
    if size != image.size:
        image = image.resize(size, Image.Resampling.LANCZOS)
    if has_alpha:
        ground = Image.new("RGB", size, WHITE)
        ground.paste(image, mask=image.getchannel("A"))
        image = ground
    shown = {"width": size[0], "height": size[1]}
    if len(data := _saved(image, "PNG")) <= PNG_BYTES:
        return {"data": data, "media_type": "image/png", **shown}
    for quality in QUALITIES:
        if len(data := _saved(image, "JPEG", quality=quality)) <= PICTURE_BYTES:
            return {"data": data, "media_type": "image/jpeg", **shown}
    raise UnfitFile(f"it has more than {PICTURE_BYTES} bytes even at the lowest quality")


def _saved(image: Any, format_: str, **options: Any) -> bytes:
    made = io.BytesIO()
    image.save(made, format_, **options)
    return made.getvalue()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
