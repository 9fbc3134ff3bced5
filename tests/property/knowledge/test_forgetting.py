"""Deletion is complete: the files contain no byte of removed or replaced text."""

import random
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.knowledge.store import KnowledgeStore
from tests.unit.knowledge.knowledge_nodes import node

LETTERS = "bcdfghjklmnpqrst"
WORDS = st.builds(
    lambda seed, count: words_of(seed, count), st.integers(0, 10**6), st.integers(1, 30)
)
TAIL = 8
"""Of a word the index keeps only the part that distinguishes it from the word before."""


def words_of(seed: int, count: int) -> list[str]:
    """Return words without common parts."""
    drawn = random.Random(seed)
    return ["".join(drawn.choices(LETTERS, k=14)) for _ in range(count)]


def traces(folder: Path, word: str) -> list[str]:
    """Return the files that contain the end of a word."""
    end = word[-TAIL:].encode()
    return [file.name for file in folder.iterdir() if end in file.read_bytes().lower()]


@settings(max_examples=12, deadline=None)
@given(WORDS, st.data())
def test_removed_text_remains_in_no_file(words: list[str], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.sampled_from(words), min_size=1), label="removed")
    replaced = data.draw(st.sets(st.sampled_from(words)), label="replaced") - gone
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        store = KnowledgeStore(folder / "knowledge.db")
        made = {word: node(f"n{number}", text=f"{word} and more", tags=(word,))
                for number, word in enumerate(words)}  # fmt: skip
        for half in (words[::2], words[1::2]):  # two segments of the index
            store.add(made[word] for word in half)
        assert all(traces(folder, word) for word in words)
        store.add(made[word].model_copy(update={"text": "new", "tags": ()}) for word in replaced)
        assert store.remove(made[word].id for word in gone) == len(gone)
        assert {word: traces(folder, word) for word in gone | replaced} == {
            word: [] for word in gone | replaced
        }
        kept = set(words) - gone - replaced
        assert {word for word in words if store.search(word)} == kept
        store.close()
