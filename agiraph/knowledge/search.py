"""Search: the nodes that match a question, found by FTS5, ranked by bm25 and by their worth.

A ranked search reads every node that contains a word, and common words occur in most nodes. So it
is bounded: first the nodes of each word are counted, up to BOUND. The rarest words, as long as the
nodes with any of them are within BOUND, decide which nodes are ranked by bm25; common words only
add to the score. If all words are common, bm25 cannot rank them: the newest nodes that contain all
words are ranked, of the project of the search, of learned knowledge and of everything, so that none
of these crowds out the others. A word that occurs nowhere matches the words that begin with it.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agiraph.knowledge.records import KNOWLEDGE_KINDS, KnowledgeKind
from agiraph.knowledge.words import all_of, any_of, kind_mark, marked, project_mark, words_of
from agiraph.knowledge.worth import worth
from agiraph.storage.database import Database, Row

BOUND: Final = 700
NEWEST: Final = 250
POOL: Final = 40
"""How many of the best nodes are read word by word, besides the wanted nodes."""

FEWEST_LETTERS: Final = 4
MOST_ENDINGS: Final = 8
TITLE, TEXT, TAGS = 4.0, 1.0, 2.0
SAME_PROJECT: Final = 1.5
UNWORTHY: Final = 0.25
"""The factor of the score of a node without any worth; its worth is added to the factor."""

ONE_MORE: Final = 0.2
IN_TITLE: Final = 0.2
"""Share of a word's score that is added if a node contains it, or contains it in the title."""

LEAST: Final = 0.1
"""The score of a match that bm25 cannot rank, for example of a word that is in most nodes."""

SNIPPET: Final = 200
LEARNED: Final = tuple(kind for kind in KNOWLEDGE_KINDS if kind != "file")

VOCABULARY: Final = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, words, 'row')"
)
COUNT: Final = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
ENDINGS: Final = "SELECT term FROM temp.vocabulary WHERE term >= ? AND term < ? LIMIT ?"
FACTS: Final = """n.seq, n.id, n.kind, n.project_id, n.importance,
    max(n.updated, coalesce(n.last_used, 0)), n.used"""
BEST: Final = f"""
    SELECT {FACTS}, -bm25(words, 0, {TITLE}, {TEXT}, {TAGS}) FROM words
    JOIN nodes AS n ON n.seq = words.rowid WHERE words MATCH ? ORDER BY words.rowid DESC LIMIT ?"""
LAST: Final = f"""
    SELECT {FACTS}, 1.0 FROM words
    JOIN nodes AS n ON n.seq = words.rowid WHERE words MATCH ? ORDER BY words.rowid DESC LIMIT ?"""
TEXTS: Final = """
    SELECT seq, title, tags, text FROM nodes WHERE seq IN (SELECT value FROM json_each(?))"""


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The scope of a search: some kinds (none: all), a project first, or only that project."""

    kinds: tuple[KnowledgeKind, ...] = ()
    project: str | None = None
    is_only_project: bool = False

    def holds(self, kind: str, project: str | None) -> bool:
        """Whether a node is in the scope."""
        is_kind = not self.kinds or kind in self.kinds
        return is_kind and (project == self.project or not self.is_only_project)

    def parts(self) -> list[tuple[tuple[str, ...], ...]]:
        """Return the parts of the scope whose newest nodes are ranked.

        A part is a tuple of groups of index marks; its nodes have one mark of each group.
        """
        kinds = tuple(map(kind_mark, self.kinds))
        project = (project_mark(self.project),) if self.project is not None else ()
        learned = tuple(kind_mark(kind) for kind in self.kinds or LEARNED if kind != "file")
        none: tuple[str, ...] = ()
        ways = [(learned, none), (kinds, none)]
        if self.is_only_project:
            ways = [(learned, project), (kinds, project)]
        elif project:
            ways.insert(0, (kinds, project))
        return list(dict.fromkeys(tuple(filter(None, way)) for way in ways))


@dataclass(frozen=True, slots=True)
class Ranked:
    """A found node, with the words of the question that it contains and a snippet with them."""

    seq: int
    id: str
    score: float
    words: tuple[str, ...] = ()
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class KnownWord:
    """A word of a question, its matching terms of the index, and its node count up to BOUND."""

    word: str
    terms: tuple[str, ...]
    count: int

    @property
    def beginnings(self) -> tuple[str, ...]:
        """The beginnings that a word in a text must have to count as this word.

        Up to three last letters of the word may differ.
        """
        return tuple({term[: max(FEWEST_LETTERS, len(term) - 3)] for term in self.terms})


def search(
    database: Database, question: str, scope: SearchScope, now: float, limit: int
) -> list[Ranked]:
    """Return the best `limit` nodes for a question, best first; [] if none of its words occurs."""
    words = sorted(_known(database, words_of(question)), key=lambda one: one.count)
    if not words or limit <= 0:
        return []
    rare = _rare(words)
    rows = _best(database, rare) if rare else _newest(database, words, scope)
    found = [_ranked(row, scope, now) for row in rows if scope.holds(row[2], row[3])]
    if not found and len(rare) < len(words):  # the rare words occur only outside the scope
        rows = _newest(database, words[len(rare) :], scope)
        found = [_ranked(row, scope, now) for row in rows if scope.holds(row[2], row[3])]
    found.sort(key=_order)
    closer = _looked_at(database, found[: POOL + limit], words)
    closer.sort(key=lambda one: _order(one[0]))
    return [replace(one, snippet=snippet_of(text, at)) for one, text, at in closer[:limit]]


def _order(one: Ranked) -> tuple[float, int]:
    return -one.score, -one.seq


def _known(database: Database, words: Iterable[str]) -> Iterable[KnownWord]:
    """Yield the words that are in the index, with their counts."""
    for word in words:
        count = _count(database, [word])
        terms: tuple[str, ...] = (word,)
        if not count and len(word) >= FEWEST_LETTERS:
            terms = _endings(database, word)
            count = _count(database, terms) if terms else 0
        if count:
            yield KnownWord(word, terms, count)


def _count(database: Database, terms: Sequence[str]) -> int:
    return int(database.rows(COUNT, any_of(terms), BOUND + 1)[0][0])


def _endings(database: Database, word: str) -> tuple[str, ...]:
    """Return the first words of the index that begin with `word`."""
    database.rows(VOCABULARY)
    rows = database.rows(ENDINGS, word, f"{word}\U0010ffff", MOST_ENDINGS)
    return tuple(row[0] for row in rows)


def _rare(words: Sequence[KnownWord]) -> list[KnownWord]:
    """Return the rarest words whose nodes together are within the bound."""
    rare, total = list[KnownWord](), 0
    for word in words:
        total += word.count
        if total > BOUND:
            break
        rare.append(word)
    return rare


def _best(database: Database, rare: Sequence[KnownWord]) -> list[Row]:
    terms = [term for word in rare for term in word.terms]
    return database.rows(BEST, any_of(terms), BOUND)


def _newest(database: Database, words: Sequence[KnownWord], scope: SearchScope) -> list[Row]:
    """Return each part's newest nodes that contain all words, else the two rarest, else one."""
    found: dict[int, Row] = {}
    terms = [word.terms[0] for word in words]
    for part in scope.parts():
        for count in sorted({len(terms), min(2, len(terms)), 1}, reverse=True):
            rows = database.rows(LAST, marked(all_of(terms[:count]), part), NEWEST)
            if rows:
                break
        found |= {row[0]: row for row in rows}
    return list(found.values())


def _ranked(row: Row, scope: SearchScope, now: float) -> Ranked:
    seq, id, kind, project, importance, touched, used, relevance = row
    score = (relevance + LEAST) * (UNWORTHY + worth(kind, importance, touched, used, now))
    if project is not None and project == scope.project:
        score *= SAME_PROJECT
    return Ranked(seq, id, score)


def _looked_at(
    database: Database, found: Sequence[Ranked], words: Sequence[KnownWord]
) -> list[tuple[Ranked, str, int]]:
    """Return (node, its text, a position) for each node found.

    The words add to the score; the position is where the rarest word occurs in the text.
    """
    rows = database.rows(TEXTS, json.dumps([one.seq for one in found]))
    texts = {seq: (title, tags, text) for seq, title, tags, text in rows}
    beginnings = [(word.word, word.beginnings) for word in words]
    return [_with_words(one, *texts[one.seq], beginnings) for one in found]


def _with_words(
    one: Ranked, title: str, tags: str, text: str, beginnings: Sequence[tuple[str, tuple[str, ...]]]
) -> tuple[Ranked, str, int]:
    whole = f"{title}\n{tags}\n{text}".lower()
    start = len(title) + len(tags) + 2
    words, first, added = list[str](), -1, 0.0
    for word, begin in beginnings:
        place = place_of(begin, whole)
        if place < 0:
            continue
        words.append(word)
        added += ONE_MORE + (IN_TITLE if place < len(title) else 0.0)
        if first < 0:
            first = place if place >= start else place_of(begin, whole, start)
    scored = replace(one, score=round(one.score * (1 + added), 6), words=tuple(words))
    return scored, text, max(0, first - start)


def place_of(beginnings: Sequence[str], text: str, start: int = 0) -> int:
    """Return the index in `text` of a word with one of the `beginnings`, -1 if there is none.

    The search begins at `start`.
    """
    for beginning in beginnings:
        place = text.find(beginning, start)
        while place > 0 and text[place - 1].isalnum():
            place = text.find(beginning, place + 1)
        if place >= 0:
            return place
    return -1


def snippet_of(text: str, at: int) -> str:
    """Return the part of a text around a position, on one line, with dots where it was cut."""
    start = max(0, at - SNIPPET // 4)
    part = text[start : start + SNIPPET]
    if start and " " in part:
        part = part.partition(" ")[2]
    if start + SNIPPET < len(text) and " " in part:
        part = part.rpartition(" ")[0]
    line = " ".join(part.split())
    return f"{'…' if start else ''}{line}{'…' if start + SNIPPET < len(text) else ''}"
