"""What an outside agent writes to others is read once, in whichever way it writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.external.outbox import unsent

NAMES = st.sampled_from(["ada", "bob", "human", "coordinator", "*"])
WORDS = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=40)


def said(text: str, *, is_settled: bool = True) -> list[tuple[str, str, bool]]:
    return [(one.to, one.text, one.asks) for one in unsent(text, (), is_settled=is_settled)]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("@ada: hello\n", [("ada", "hello", False)]),
        ("@ada: hello\nand more\n\nno message\n", [("ada", "hello\nand more", False)]),
        ("@ada: a\n@bob: b\n", [("ada", "a", False), ("bob", "b", False)]),
        ("@human?: which one?\n", [("human", "which one?", True)]),
        ("@human ?: which one?\n", [("human", "which one?", True)]),
        ("@*: all\n", [("*", "all", False)]),
        ("TO: bob\nline one\n\nline two\n---\n", [("bob", "line one\n\nline two", False)]),
        ("to: human?\nwhich?\n---\n@ada: x\n", [("human", "which?", True), ("ada", "x", False)]),
        ("@ada:\n\nTO: bob\n---\n", []),
        ("Dear all, mail a@b.c: it\n", []),
        ("# Outbox\n\n@ada: after a heading", [("ada", "after a heading", False)]),
    ],
)
def test_both_ways_of_writing_are_read(text: str, read: list[tuple[str, str, bool]]) -> None:
    assert said(text) == read


def test_what_may_still_be_written_waits_until_the_file_is_settled() -> None:
    assert said("@ada: hel", is_settled=False) == []
    assert said("@ada: hello\n", is_settled=False) == []
    assert said("@ada: hello\n\n", is_settled=False) == [("ada", "hello", False)]
    assert said("@ada: one\n@bob: tw", is_settled=False) == []
    assert said("@ada: one\n@bob: two\n", is_settled=False) == [("ada", "one", False)]


def test_the_same_words_count_as_often_as_they_stand_there() -> None:
    first = unsent("@ada: hi\n\n", (), is_settled=True)
    keys = {one.key for one in first}
    assert unsent("@ada: hi\n\n", keys, is_settled=True) == []
    [again] = unsent("@ada: hi\n\n@ada: hi\n\n", keys, is_settled=True)
    assert again.key not in keys


@given(st.lists(st.tuples(NAMES, WORDS), max_size=5), st.data())
def test_however_the_file_grows_each_message_is_sent_once(
    messages: list[tuple[str, str]], data: st.DataObject
) -> None:
    text = "".join(f"@{to}: {words}\n\n" for to, words in messages)
    sent: set[str] = set()
    read: list[tuple[str, str]] = []
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    for place in (*places, len(text)):
        for one in unsent(text[:place], sent, is_settled=False):
            sent.add(one.key)
            read.append((one.to, one.text))
    assert read == messages
