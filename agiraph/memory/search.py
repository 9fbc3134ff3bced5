"""Search: a small memory as a whole, else its sections that match a query, the best first.

Ranked by SQLite's FTS5 with bm25, in a temporary index in RAM that is built from the files for each
search, so it is never stale. A text is split at its headings into sections, which together are the
whole text. A word in the heading or the file's name has more weight than a word in the text. Words
are stemmed, and a word is found by its beginning (`async` finds `asyncio`). Sections that contain a
word of the query only inside another word come last, so every result of a substring search is
included. Equal scores are ordered by path and place, so the same query has the same result.
"""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
FENCE = re.compile(r"^\s{0,3}(```+|~~~+)")


@dataclass(frozen=True, slots=True)
class MemorySection:
    """One section of a file; `heading` is its full path, `Top > Part`, "" before the first."""

    path: str
    heading: str
    text: str


def split_sections(path: str, text: str) -> list[MemorySection]:
    """Return the sections of a Markdown text in order; [] for a text without words."""
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
    """Return the code fence that is open after `line`, "" if none; `fence` was open before it."""
    found = FENCE.match(line)
    if not found:
        return fence
    if not fence:
        return found[1]
    closes = found[1][0] == fence[0] and len(found[1]) >= len(fence)
    return "" if closes and not line.strip(" \t\r\n" + fence[0]) else fence


WORD = re.compile(r"\w+")
PATH_WEIGHT, HEADING_WEIGHT, TEXT_WEIGHT = 2.0, 4.0, 1.0
MOST_WORDS = 32


@dataclass(frozen=True, slots=True)
class MemoryMatch(MemorySection):
    """A section that matches a query (a whole file has no heading), with its score.

    A higher score is a better match.
    """

    score: float = 0.0


@dataclass(frozen=True, slots=True)
class MemorySearchResult:
    """The result of a search: the matches, best first, and how many were left out.

    `is_all`: the memory is small, and the hits are all its files.
    """

    hits: tuple[MemoryMatch, ...]
    is_all: bool = False
    left_out: int = 0


def search(
    documents: Mapping[str, str], query: str, *, inline_limit: int, limit: int
) -> MemorySearchResult:
    """Return all files if they have at most `inline_limit` characters, else up to `limit` sections.

    `documents` maps a file's path to its text.
    """
    if sum(map(len, documents.values())) <= inline_limit:
        whole = (
            MemoryMatch(path, "", text) for path, text in sorted(documents.items()) if text.strip()
        )
        return MemorySearchResult(tuple(whole), is_all=True)
    sections = [
        section
        for path, text in sorted(documents.items())
        for section in split_sections(path, text)
    ]
    hits = rank(sections, query)
    return MemorySearchResult(tuple(hits[:limit]), left_out=max(0, len(hits) - limit))


def rank(sections: Sequence[MemorySection], query: str) -> list[MemoryMatch]:
    """Return every section that contains a word of the query, the best first."""
    words = list(dict.fromkeys(word.casefold() for word in WORD.findall(query)))[:MOST_WORDS]
    if not words:
        return []
    scores = _scores(sections, words)
    for number, section in enumerate(sections):
        if number not in scores and _holds_any(section, words):
            scores[number] = 0.0
    best = sorted(scores, key=lambda number: (-scores[number], number))
    return [
        MemoryMatch(found.path, found.heading, found.text, round(scores[number], 4))
        for number in best
        if (found := sections[number])
    ]


def _holds_any(section: MemorySection, words: Sequence[str]) -> bool:
    whole = f"{section.path}\n{section.heading}\n{section.text}".casefold()
    return any(word in whole for word in words)


def _scores(sections: Sequence[MemorySection], words: Sequence[str]) -> dict[int, float]:
    """Return the bm25 score by index for the sections that contain a word; higher is better."""
    index = sqlite3.connect(":memory:")  # plain: no file
    try:
        index.execute(
            "CREATE VIRTUAL TABLE part USING fts5(path, heading, text, "
            "tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        rows = ((n, s.path, s.heading, s.text) for n, s in enumerate(sections, start=1))
        index.executemany("INSERT INTO part(rowid, path, heading, text) VALUES (?, ?, ?, ?)", rows)
        asked = " OR ".join(f'"{word}"*' for word in words)
        found = index.execute(
            "SELECT rowid, bm25(part, ?, ?, ?) FROM part WHERE part MATCH ?",
            (PATH_WEIGHT, HEADING_WEIGHT, TEXT_WEIGHT, asked),
        )
        return {int(row) - 1: -float(score) for row, score in found}
    except sqlite3.OperationalError:  # an SQLite without FTS5: only a substring search
        return {}
    finally:
        index.close()


def shown(found: MemorySearchResult) -> str:
    """Return a search result as text for a model."""
    if not found.hits:
        return "Nothing in your memory matches that."
    parts = []
    for hit in found.hits:
        heading = f" > {hit.heading}" if hit.heading else ""
        score = "" if found.is_all else f" (score {hit.score:g})"
        parts.append(f"**{hit.path}**{heading}{score}\n\n{hit.text.strip()}")
    if found.left_out:
        parts.append(f"({found.left_out} more sections match; use other words to see them)")
    return "\n\n---\n\n".join(parts)
