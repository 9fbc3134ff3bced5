"""Sections: a Markdown text cut at its headings. Pure.

Every section holds its heading's line and what follows up to the next heading, so all sections
together are the whole text. A `#` inside a fenced block of code is no heading.
"""

import re
from dataclasses import dataclass

HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
FENCE = re.compile(r"^\s{0,3}(```+|~~~+)")


@dataclass(frozen=True, slots=True)
class MemorySection:
    """One piece of a file; `heading` is the way down to it, `Top > Part`, "" before the first."""

    path: str
    heading: str
    text: str


def split_sections(path: str, text: str) -> list[MemorySection]:
    """Return the sections of a text in order; none of an empty one."""
    sections: list[MemorySection] = []
    trail: list[tuple[int, str]] = []
    lines: list[str] = []
    fence = ""

    def close() -> None:
        if any(line.strip() for line in lines):
            heading = " > ".join(title for _, title in trail)
            sections.append(MemorySection(path, heading, "".join(lines)))
        lines.clear()

    for line in text.splitlines(keepends=True):
        fence = _fence_after(fence, line)
        found = None if fence else HEADING.match(line.rstrip("\r\n"))
        if found:
            close()
            level = len(found[1])
            trail = [(depth, title) for depth, title in trail if depth < level]
            trail.append((level, found[2]))
        lines.append(line)
    close()
    return sections


def _fence_after(fence: str, line: str) -> str:
    """Return the fence that is open after this line, "" if none."""
    found = FENCE.match(line)
    if not found:
        return fence
    if not fence:
        return found[1]
    closes = found[1][0] == fence[0] and len(found[1]) >= len(fence)
    return "" if closes and not line.strip(" \t\r\n" + fence[0]) else fence
