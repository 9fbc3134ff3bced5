"""PictureStore: the pictures of one entity's conversation, by the SHA-256 of their bytes.

The conversation refers to a picture by its digest, so the journal never contains its bytes. The
oldest pictures are removed: a conversation shows few of them at once.
"""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from agiraph.core.turns import Picture
from agiraph.storage.files import entries, read_bytes, remove_file, replace_bytes

KEPT: Final = 64
DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class PictureStore:
    """The pictures in `folder`, which is made by the first of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loaded: dict[str, bytes] = {}

    def add(self, data: bytes) -> str:
        """Store a picture; return its digest. Raises OSError."""
        digest = hashlib.sha256(data).hexdigest()
        replace_bytes(self._folder / digest, data, 0o600)
        found = sorted(entries(self._folder), key=lambda one: one.changed_ns)
        for old in found[: max(0, len(found) - KEPT)]:
            remove_file(self._folder / old.name)
        return digest

    def load(self, pictures: Iterable[Picture]) -> dict[str, bytes]:
        """Return the bytes of pictures by digest, without missing and changed ones.

        Only these stay in memory.
        """
        wanted = {one.digest for one in pictures}
        self._loaded = {
            digest: data
            for digest in wanted
            if (data := self._loaded.get(digest) or self._read(digest)) is not None
        }
        return dict(self._loaded)

    def _read(self, digest: str) -> bytes | None:
        if DIGEST.fullmatch(digest) is None:
            return None
        try:
            data = read_bytes(self._folder / digest)
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == digest else None
