"""Media types by file name, and the types that a browser would run or follow."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

PLAIN = "text/plain; charset=utf-8"
UNKNOWN = "application/octet-stream"

INERT = {
    ".csv": "text/csv; charset=utf-8",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".mp3": "audio/mpeg",
    ".wav": "audio/wav",
    ".ogg": "audio/ogg",
    ".mp4": "video/mp4",
    ".webm": "video/webm",
}
"""Types shown in the page. SVG is missing on purpose: it can contain scripts."""

TEXTS = re.compile(
    r"\.(txt|log|jsonl|ya?ml|toml|ini|cfg|conf|py|m?js|[jt]sx|ts|css|sh|sql|[ch](pp)?|rs|go|java)"
    r"|\.(kt|swift|rb|php|lua|r|tex|rst|diff|patch|tsv|lock)"
)

ACTIVE = {
    ".html": "text/html; charset=utf-8",
    ".htm": "text/html; charset=utf-8",
    ".xhtml": "application/xhtml+xml",
    ".svg": "image/svg+xml",
    ".xml": "application/xml",
    ".pdf": "application/pdf",
}


@dataclass(frozen=True, slots=True)
class ServedType:
    """How a file is served: its content type, and whether a browser only saves it."""

    media_type: str
    is_attachment: bool


def kind_of(name: str) -> ServedType:
    """Return how a file with this name is served."""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in INERT:
        return ServedType(INERT[suffix], False)
    if TEXTS.fullmatch(suffix):
        return ServedType(PLAIN, False)
    return ServedType(ACTIVE.get(suffix, UNKNOWN), True)
