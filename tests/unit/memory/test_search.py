"""Sections and search, by example."""

import pytest

from agiraph.memory.search import search, shown, split_sections

NOTES = """# Python asyncio

Written in November.

## Cancellation

A cancelled task raises CancelledError.

```python
# not a heading
```

## Queues

Bound them.
"""


def test_section_has_the_path_of_its_headings() -> None:
    headings = [section.heading for section in split_sections("knowledge/x.md", NOTES)]
    assert headings == [
        "Python asyncio",
        "Python asyncio > Cancellation",
        "Python asyncio > Queues",
    ]


def test_comment_in_code_is_not_a_heading() -> None:
    section = split_sections("x.md", NOTES)[1]
    assert "# not a heading" in section.text


def test_search_of_a_large_memory_returns_the_best_sections_first() -> None:
    memory = {
        "knowledge/python-asyncio.md": NOTES,
        "knowledge/rust.md": "# Rust\n\n## Futures\n\nThey are lazy; cancel by dropping.\n",
    }
    found = search(memory, "cancellation of async tasks", inline_limit=0, limit=2)
    assert found.hits[0].heading == "Python asyncio > Cancellation"
    assert found.left_out >= 1
    text = shown(found)
    assert text.startswith("**knowledge/python-asyncio.md** > Python asyncio > Cancellation (score")
    assert "more sections match" in text


@pytest.mark.parametrize(
    ("path", "text", "query"),
    [
        pytest.param("python-asyncio.md", "# Loops\n", "async", id="by its beginning, in a name"),
        pytest.param("x.md", "# 备忘\n\n人类喜欢简短的回答。\n", "简短", id="without spaces"),
    ],
)
def test_text_is_found_by_one_of_its_words(path: str, text: str, query: str) -> None:
    found = search({path: text}, query, inline_limit=0, limit=5)
    assert [hit.path for hit in found.hits] == [path]


def test_query_may_contain_any_characters() -> None:
    for query in ('"', "a OR", "NEAR(", "*", "  ", "-", "x" * 5000, "' ; DROP"):
        search({"x.md": "# A\n\nb"}, query, inline_limit=0, limit=5)


def test_empty_result_is_reported() -> None:
    assert "Nothing" in shown(search({"x.md": "# A\n"}, "zebra", inline_limit=0, limit=5))
