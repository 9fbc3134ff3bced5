"""Spellings of file names: readable, and the way back to exactly the same name."""

import os
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from agiraph.storage.file_names import found_below, spelled, unspelled

ODD = (*range(0x20), 0x7F)
NAMES = st.binary(min_size=1, max_size=20).filter(
    lambda name: b"/" not in name and b"\0" not in name
)


@given(NAMES)
@example(b"caf\xe9.txt")
@example(b"a\nb\\n.txt")
@example(b"\\xe9\xe9\\")
def test_spelling_can_be_sent_and_leads_back_to_the_name(name: bytes) -> None:
    text = os.fsdecode(name)
    shown = spelled(text)
    assert shown.encode().decode() == shown, "it is UTF-8"
    assert not any(ord(char) in ODD for char in shown)
    assert shown == text or unspelled(shown) == text


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=20))
def test_plain_name_is_its_own_spelling(name: str) -> None:
    assert spelled(name) == name


def test_file_with_exactly_the_spelled_name_comes_first(tmp_path: Path) -> None:
    odd, plain = tmp_path / "a\nb.txt", tmp_path / r"a\nb.txt"
    odd.touch()
    assert found_below(tmp_path, r"a\nb.txt") == odd
    plain.touch()
    assert found_below(tmp_path, r"a\nb.txt") == plain
