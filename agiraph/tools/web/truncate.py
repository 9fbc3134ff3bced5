"""Truncate: a long text in pieces that a model can ask for, none longer than a limit. Pure."""

from dataclasses import dataclass

LOOK_BACK = 0.2


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Characters `offset` to `end` of a text of `total`."""

    text: str
    offset: int
    total: int

    @property
    def end(self) -> int:
        """The offset of what follows."""
        return self.offset + len(self.text)

    @property
    def is_last(self) -> bool:
        """Whether nothing follows."""
        return self.end >= self.total


def cut(text: str, offset: int, limit: int) -> TextPiece:
    """Return at most `limit` characters from `offset` on, ended at a line or word if one is near.

    Going on at `end` of each piece gives the whole text, each character once.
    """
    offset = min(max(offset, 0), len(text))
    end = min(offset + max(limit, 1), len(text))
    if end < len(text):
        end = _good_end(text, offset, end)
    return TextPiece(text[offset:end], offset, len(text))


def _good_end(text: str, start: int, end: int) -> int:
    """Return the last break in the piece's last fifth: of a paragraph, a line, a word."""
    nearest = end - int((end - start) * LOOK_BACK)
    for mark in ("\n\n", "\n", " "):
        at = text.rfind(mark, nearest, end)
        if at > start:
            return at + len(mark)
    return end
