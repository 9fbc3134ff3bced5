"""Kinds of files that can be shown as pictures, recognised by their first bytes."""

from pathlib import Path
from typing import Final, Literal

from agiraph.storage.files import read_part

FileKind = Literal["PNG", "JPEG", "GIF", "WEBP", "PDF"]

HEAD_BYTES: Final = 16
SIGNATURES: Final[tuple[tuple[bytes, FileKind], ...]] = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"%PDF-", "PDF"),
)
SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf")


def kind_of_data(head: bytes) -> FileKind | None:
    """Return the kind of a file that begins with `head`; its name does not matter."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    return next((kind for start, kind in SIGNATURES if head.startswith(start)), None)


def kind_of_file(path: Path) -> FileKind | None:
    """Return the kind of a file, None for any other; only a regular file. Raises OSError."""
    return kind_of_data(read_part(path, 0, HEAD_BYTES, anyones=True)[0])
