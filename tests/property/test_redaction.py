"""Redaction leaves ordinary text alone, and its time grows no faster than the text."""

import string
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.redaction import KINDS, redact_text

HEX = st.text("0123456789abcdef", min_size=1, max_size=128)
NAMES = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12)
PATHS = st.lists(NAMES, min_size=1, max_size=8).map(lambda parts: "/" + "/".join(parts))
WORDS = st.text(string.ascii_letters + " .,!?'\n", max_size=300)
ORDINARY = st.one_of(
    HEX,
    HEX.map(lambda text: f"sha256:{text}"),
    PATHS,
    st.uuids().map(str),
    st.integers().map(str),
    WORDS,
    st.tuples(NAMES, HEX).map(lambda pair: f"{pair[0]}-{pair[1][:6]}"),
    PATHS.map(lambda path: f"https://example.org:8000{path}"),
)
PIECES = (
    *(
        "eyJ",
        "eyJaaaaaaaa.",
        "WyJ",
        "WyJaaaaaaaa.",
        "sk-",
        "sk_",
        "SG.",
        "://",
        "a:",
        "@",
        "token=",
    ),
    *("-----BEGIN PRIVATE KEY-----", "Bearer ", "authorization: basic ", "0123456789:", "secret:"),
    *("a", "a-", "aaaaaaaaaaaaaaaa", "A", "0", ".", "=", " ", "\n", "AKIA", "github_pat_", '"'),
)


@given(st.lists(ORDINARY, max_size=5).map(" ".join))
def test_digests_ids_paths_and_words_are_not_redacted(text: str) -> None:
    assert redact_text(text) == text


@given(st.text())
def test_redaction_is_idempotent(text: str) -> None:
    assert redact_text(redact_text(text)) == redact_text(text)


@pytest.mark.parametrize("piece", [*PIECES, *("".join(pair) for pair in pairwise(PIECES))])
def test_redaction_time_is_bounded_for_any_text(piece: str) -> None:
    """Half a megabyte of beginnings of secrets: quadratic time would be minutes."""
    redact_text(piece * (500_000 // len(piece)))
    assert KINDS
