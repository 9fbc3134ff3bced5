"""Decompress: undo a body's compression piece by piece, never making more than was allowed.

A kilobyte can hold a megabyte of zeros: whoever inflates a whole piece has no say in how much comes
out. So bodies are taken raw, and inflated here with a limit.
"""

import zlib

from agiraph.core.errors import Refused

ACCEPTED = "gzip, deflate"
ANY_HEADER = zlib.MAX_WBITS | 32


class Decompressor:
    """Turns raw pieces into plain ones, `limit` bytes in all; `is_full` when more would come."""

    def __init__(self, encoding: str, limit: int) -> None:
        """Undo `encoding` (a Content-Encoding); raises Refused for one that is not known."""
        name = encoding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise Refused(f"its encoding '{name[:40]}' cannot be read (possible: {ACCEPTED})")
        self._inflate = None if name in ("", "identity") else zlib.decompressobj(ANY_HEADER)
        self._may_be_bare = name == "deflate"
        self._left = limit
        self.is_full = False

    def take(self, raw: bytes) -> bytes:
        """Return what `raw` adds to the plain body; raises Refused for what is no such encoding."""
        if self.is_full or not raw:
            return b""
        if self._inflate is None:
            plain, rest = raw[: self._left], raw[self._left :]
        else:
            plain = self._inflated(raw)
            rest = self._inflate.unconsumed_tail
        self._left -= len(plain)
        self.is_full = self.is_full or bool(rest)
        return plain

    def _inflated(self, raw: bytes) -> bytes:
        assert self._inflate is not None
        try:
            # One byte more than is left tells a body that ends here from one that goes on.
            plain = self._inflate.decompress(raw, self._left + 1)
        except zlib.error as error:
            if not self._may_be_bare:
                raise Refused(f"its compressed body is damaged ({error})") from None
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)  # `deflate` without its header
            self._may_be_bare = False
            return self._inflated(raw)
        self._may_be_bare = False
        if len(plain) > self._left:
            self.is_full = True
            return plain[: self._left]
        return plain
