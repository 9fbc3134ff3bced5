"""Spellings of file names: readable, and converted back to exactly the same name."""

import os
from pathlib import Path, PureWindowsPath

from hypothesis import example, given
from hypothesis import strategies as st

from agiraph.storage.file_names import found_below, portable, spelled, unspelled

ODD = (*range(0x20), 0x7F)
NAMES = st.binary(min_size=1, max_size=20).filter(
    lambda name: b"/" not in name and b"\0" not in name
)

DEVICES = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{name}{n}" for name in ("com", "lpt") for n in range(10)),
}


@given(NAMES)
@example(b"caf\xe9.txt")
@example(b"a\nb\\n.txt")
@example(b"\\xe9\xe9\\")
def test_spelling_of_a_file_name_is_utf8_and_reversible(name: bytes) -> None:
    text = os.fsdecode(name)
    shown = spelled(text)
    assert shown.encode().decode() == shown, "it is UTF-8"
    assert not any(ord(char) in ODD for char in shown)
    assert shown == text or unspelled(shown) == text


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=20))
def test_plain_name_is_its_own_spelling(name: str) -> None:
    assert spelled(name) == name


paths = st.lists(NAMES.filter(lambda name: name not in (b".", b"..")), min_size=1, max_size=3)


@given(paths, paths)
@example([b"..\\..\\evil.txt"], [b"..%5C..%5Cevil.txt"])
@example([b"C:", b"x"], [b"con.txt"])
@example([b".. "], [b"..\n"])
@example([b"Lpt1 .txt"], [b"NUL"])
def test_name_in_an_archive_stays_in_its_folder_on_any_system(
    one: list[bytes], other: list[bytes]
) -> None:
    first, second = (Path(os.fsdecode(b"/".join(names))) for names in (one, other))
    name = portable(first)
    assert name.encode().decode() == name, "it is UTF-8"
    assert not set(name) & {"\\", ":", *map(chr, ODD)}
    inner = PureWindowsPath(name)
    assert not inner.anchor
    for part in inner.parts:
        assert part[-1] not in ". "
        assert part.partition(".")[0].rstrip().lower() not in DEVICES
    assert (name == portable(second)) == (first == second)


def test_file_with_exactly_the_spelled_name_is_found_first(tmp_path: Path) -> None:
    odd, plain = tmp_path / "a\nb.txt", tmp_path / r"a\nb.txt"
    odd.touch()
    assert found_below(tmp_path, r"a\nb.txt") == odd
    plain.touch()
    assert found_below(tmp_path, r"a\nb.txt") == plain


def test_archive_name_is_relative_and_has_no_parent_references() -> None:
    assert portable(Path("/etc/../x")) == "etc/.%2E/x"
