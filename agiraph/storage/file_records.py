"""Records of files for transfer between machines: an entry of a listing, an offer of a file."""

from typing import Final, Literal

from pydantic import Field

from agiraph.core.record import Record

FileKind = Literal["file", "folder", "link"]
FileRoot = Literal["home", "input", "shared"]
"""The root of a relative path.

The agent's home, its input folder, or the folder that the home shares with all workers (SHARED).
"""
DIGEST: Final = "^[0-9a-f]{64}$"
"""A SHA-256 in hexadecimal."""
SHARED: Final = ("prompts", "skills", "AGENTS.md")


class FileEntry(Record):
    """A file, folder or link; `digest` is the SHA-256 in hexadecimal of a file's content."""

    path: str
    kind: FileKind = "file"
    size: int = 0
    mode: int = 0o644
    mtime_ns: int = 0
    digest: str = ""
    target: str = ""


class FileOffer(Record):
    """A large file that is to be stored at `path`, with the SHA-256 of its content."""

    path: str
    size: int = Field(ge=1)
    digest: str = Field(pattern=DIGEST)
    mode: int = Field(default=0o644, ge=0, le=0o777)
