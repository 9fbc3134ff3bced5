"""An external agent's messages are sent once, in each of the forms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.external.outbox import unsent

NAMES = st.sampled_from(["ada", "bob", "human", "coordinator", "*"])
WORDS = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=40)


def read(text: str, *, is_settled: bool = True) -> list[tuple[str, str, bool]]:
    return [(one.to, one.text, one.asks) for one in unsent(text, (), is_settled=is_settled)]


@pytest.mark.parametrize(
    ("text", "messages"),
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
def test_both_message_forms_are_read(text: str, messages: list[tuple[str, str, bool]]) -> None:
    assert read(text) == messages


def test_a_message_that_may_be_incomplete_waits_until_the_file_is_settled() -> None:
    one = [("ada", "one", False)]
    for text, messages in (
        ("@ada: on", []),
        ("@ada: one\n", []),
        ("@ada: one\n\n", one),
        ("@ada: one\n@bob: tw", []),
        ("@ada: one\n@bob: two\n", one),
    ):
        assert read(text, is_settled=False) == messages, text


def test_repeated_text_is_sent_as_often_as_it_occurs() -> None:
    keys = {one.key for one in unsent("@ada: hi\n\n", (), is_settled=True)}
    assert unsent("@ada: hi\n\n", keys, is_settled=True) == []
    [again] = unsent("@ada: hi\n\n@ada: hi\n\n", keys, is_settled=True)
    assert again.key not in keys


@given(st.lists(st.tuples(NAMES, WORDS), max_size=5), st.data())
def test_each_message_of_a_growing_file_is_sent_once(
    messages: list[tuple[str, str]], data: st.DataObject
) -> None:
    text = "".join(f"@{to}: {words}\n\n" for to, words in messages)
    sent: set[str] = set()
    found: list[tuple[str, str]] = []
    lengths = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    for length in (*lengths, len(text)):
        for one in unsent(text[:length], sent, is_settled=False):
            sent.add(one.key)
            found.append((one.to, one.text))
    assert found == messages
