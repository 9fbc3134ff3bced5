"""Search in a memory: no match is missing, the rare word decides, the result is deterministic."""

import string

from hypothesis import given
from hypothesis import strategies as st

from agiraph.memory.search import MemorySection, rank, search, split_sections

WORDS = st.text(string.ascii_lowercase, min_size=3, max_size=8)
TEXTS = st.lists(WORDS, min_size=1, max_size=30).map(" ".join)
NAMES = st.from_regex(r"[a-z]{1,8}\.md", fullmatch=True)
MEMORIES = st.dictionaries(NAMES, TEXTS, min_size=1, max_size=12)
MARKDOWN = st.lists(
    st.one_of(TEXTS, st.sampled_from(["# A", "## B", "### C", "```", "", "####### no"])),
    max_size=20,
).map("\n".join)
RARE = "zzyzx"


@given(MEMORIES, WORDS)
def test_a_small_memory_is_always_found_whole(memory: dict[str, str], query: str) -> None:
    found = search(memory, query, inline_limit=10**6, limit=1)
    assert found.is_all
    assert {hit.path: hit.text for hit in found.hits} == memory


@given(MEMORIES, WORDS)
def test_every_file_with_the_word_is_found(memory: dict[str, str], query: str) -> None:
    found = search(memory, query, inline_limit=0, limit=1000)
    holding = {path for path, text in memory.items() if query in text or query in path}
    assert holding <= {hit.path for hit in found.hits}


@given(MEMORIES, st.lists(WORDS, min_size=1, max_size=4).map(" ".join))
def test_the_same_question_has_the_same_answer(memory: dict[str, str], query: str) -> None:
    again = dict(reversed(memory.items()))
    assert search(memory, query, inline_limit=0, limit=5) == search(
        again, query, inline_limit=0, limit=5
    )


@given(st.lists(TEXTS, min_size=4, max_size=12), st.data())
def test_section_with_the_rare_word_ranks_first(texts: list[str], data: st.DataObject) -> None:
    lucky = data.draw(st.integers(0, len(texts) - 1))
    sections = [
        MemorySection(f"{n}.md", "", f"common {text}" + (f" {RARE}" if n == lucky else ""))
        for n, text in enumerate(texts)
    ]
    hits = rank(sections, f"common {RARE}")
    assert hits[0].path == f"{lucky}.md"
    assert len(hits) == len(texts)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


@given(MARKDOWN)
def test_the_sections_of_a_text_are_the_whole_text(text: str) -> None:
    joined = "".join(section.text for section in split_sections("x.md", text))
    assert "".join(joined.split()) == "".join(text.split())
