"""Titles: a short name of an agent from the nouns of its goal; by rules, without a model.

A goal begins with words such as "Please write the ...", which name nothing. The title leaves out
articles, pronouns, prepositions, auxiliary verbs, numerals and common verbs of English; the first
remaining words that fit are the name. Equal goals have equal titles.
"""

import re
from typing import Final

from agiraph.core.ids import slug

TITLE_CHARACTERS: Final = 24
SENTENCE_END: Final = re.compile(r"[.!?:;](?:\s|$)|\n")
COMMON_WORDS: Final = """
a about above across after again against all also am among an and another any are as at be because
been before below between both but by can could did do does during each either else etc every few
first for from further given had has have he her here him his how i if in into is it its itself just
last least less let like made may me might more most must my no nor not of off on once one only onto
or other our out over own per please same shall she should since so some such than that the their
them then there these they this those through to too under until up us very via was we were what
when where whether which while who whom whose why will with within without would yet you your two
three four five six seven eight nine ten add answer ask bring build calculate change check choose
collect come compare compute contain contains convert count create describe design develop do
explain extract find fix gather get give go hold holds implement improve know lie lies list look
make mend need needs order produce provide put read rewrite say says see show sort sum summarise
summarize take tell think try turn update use using want wants watch work write
"""
NOT_IN_TITLES: Final = frozenset(COMMON_WORDS.split())


def title_of(goal: str) -> str:
    """Return a name for an agent with this goal: at most TITLE_CHARACTERS of ASCII, "" if none.

    The words are from the first sentence that contains a noun; without such a sentence, they are
    the first words of the goal.
    """
    sentences = [_words(sentence) for sentence in SENTENCE_END.split(goal)]
    for words in sentences:
        if title := _joined([word for word in words if word not in NOT_IN_TITLES]):
            return title
    return _joined([word for words in sentences for word in words])


def _words(sentence: str) -> list[str]:
    plain = re.sub(r"(?<=\w)['’](?:s|t|re|ll|ve|d|m)\b", "", sentence)
    return [word for part in plain.split() if (made := slug(part, "")) for word in made.split("-")]


def _joined(words: list[str]) -> str:
    """Return the first different words that fit, joined by dashes; a too long word is cut."""
    title = ""
    for word in dict.fromkeys(words):
        longer = f"{title}-{word}" if title else word[:TITLE_CHARACTERS]
        if len(longer) > TITLE_CHARACTERS:
            break
        title = longer
    return title
