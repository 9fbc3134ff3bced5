"""The pages for people, as tests read them: links, words in back quotes, lines of code blocks."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))
)
HISTORY: Final = "CHANGELOG.md"
"""May name removed features."""
SHELLS: Final = ("", "bash", "console", "sh")
"""Languages of code blocks with command lines, or with the output of a program."""

_FENCE = re.compile(r"^\s*```(\w*)")
_QUOTED = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


class PagePiece(NamedTuple):
    """A piece of a page, and its place."""

    place: str
    text: str


class Page:
    """One page, with its code blocks separated from its text."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._text: list[PagePiece] = []
        self._code: list[PagePiece] = []
        language: str | None = None
        for number, line in enumerate((ROOT / name).read_text("utf-8").splitlines(), 1):
            found = PagePiece(f"{name}:{number}", line)
            if fence := _FENCE.match(line):
                language = fence[1] if language is None else None
            elif language is None:
                self._text.append(found)
            elif language in SHELLS:
                self._code.append(found)
        assert language is None, f"a code block of {name} has no end"

    def code_lines(self) -> list[PagePiece]:
        """Return the lines of the blocks that hold command lines or output."""
        return self._code

    def text_lines(self) -> list[PagePiece]:
        """Return the lines of the running text."""
        return self._text

    def quoted(self) -> Iterator[PagePiece]:
        """Yield the quoted words (in back quotes) of the running text."""
        for place, line in self._text:
            yield from (PagePiece(place, word) for word in _QUOTED.findall(line))

    def links(self) -> Iterator[PagePiece]:
        """Yield where links and pictures of the running text lead."""
        for place, line in self._text:
            yield from (PagePiece(place, to) for to in _LINK.findall(_QUOTED.sub("", line)))
