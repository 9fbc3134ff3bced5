"""Words: convert a question to the words that are searched. Pure.

A question is never in the index's own query language: each word is searched as a quoted string, and
the rest of the question does not reach the index.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from agiraph.core.ids import derived_id

WORD: Final = re.compile(r"[^\W_]+")
MOST_WORDS: Final = 16
LONGEST_WORD: Final = 64
ENGLISH: Final = """
    a about all also an and any are as at be been but by can could do does for from had has have
    how if in into is it its just like make may me more most my no not of on one only or other our
    out over please should so some such than that the their them then there these they this those
    to under up us use using very was we were what when where which while who why will with would
    you your"""
GERMAN: Final = """
    aber alle als am an auch auf aus bei bitte das dass dem den der des die dies diese ein eine
    einem einen einer es für hat ich ihr im in ist kann mit nach nicht noch nur oder sich sie sind
    so und uns vom von vor war was wenn wie wir wird zu zum zur"""
COMMON: Final = frozenset([*ENGLISH.split(), *GERMAN.split()])
"""Words that do not indicate the subject of a text."""


def words_of(question: str) -> tuple[str, ...]:
    """Return the words of a question to search: the MOST_WORDS most frequent, then longest, ones.

    Common words are used only if there are no others.
    """
    text = unicodedata.normalize("NFC", question).casefold()
    every = [word[:LONGEST_WORD] for word in WORD.findall(text)]
    telling = [word for word in every if word not in COMMON]
    counts: dict[str, int] = {}
    for word in telling or every:
        counts[word] = counts.get(word, 0) + 1
    if len(counts) <= MOST_WORDS:
        return tuple(counts)
    best = sorted(counts, key=lambda word: (-counts[word], -len(word)))[:MOST_WORDS]
    return tuple(word for word in counts if word in best)


def quoted(word: str) -> str:
    """Return a word as a string literal of the index's query language, with any characters."""
    return '"' + word.replace('"', '""').replace("\0", "") + '"'


def any_of(words: Iterable[str]) -> str:
    """Return the query for nodes with any of the words in their title, text or tags."""
    return f"{{title text tags}} : ({' OR '.join(map(quoted, words))})"


def all_of(words: Iterable[str]) -> str:
    """Return the query for nodes with all of the words."""
    return f"{{title text tags}} : ({' AND '.join(map(quoted, words))})"


def marked(query: str, marks: Sequence[Sequence[str]]) -> str:
    """Return a query that also requires one of these marks from each group of marks."""
    for group in marks:
        query = f"({query}) AND (marks : ({' OR '.join(map(quoted, group))}))"
    return query


def kind_mark(kind: str) -> str:
    """Return the word that marks a kind in the index."""
    return f"kind{kind.replace('_', '')}"


def project_mark(project: str) -> str:
    """Return the word that marks a project in the index; every id is allowed."""
    return f"project{derived_id(project)}"


def marks_of(kind: str, project: str | None) -> str:
    """Return the words that mark kind and project of a node in the index."""
    return kind_mark(kind) if project is None else f"{kind_mark(kind)} {project_mark(project)}"
