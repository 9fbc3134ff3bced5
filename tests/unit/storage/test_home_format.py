"""The format of a home: written once, and a home of another format is refused unchanged."""

from pathlib import Path

import pytest

from agiraph.core.errors import Corrupt
from agiraph.storage.home import Home
from agiraph.storage.home_format import FORMAT, OtherFormat, check_format, claim_format, format_of


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.system.path.mkdir()
    return home


def test_new_home_gets_and_keeps_the_current_format(home: Home) -> None:
    check_format(home)
    assert format_of(home) is None
    for _ in range(2):
        claim_format(home)
        assert format_of(home) == FORMAT


@pytest.mark.parametrize(("number", "age"), [(FORMAT + 1, "a newer"), (0, "an older")])
def test_home_of_another_format_is_refused_unchanged(home: Home, number: int, age: str) -> None:
    home.system.format.write_text(f"{number}\n")
    for refuse in (check_format, claim_format):
        with pytest.raises(OtherFormat) as caught:
            refuse(home)
        assert str(caught.value) == (
            f"{home.path} was written by {age} Agiraph: its format is {number}, this one reads only"
            f" {FORMAT} (possible: that Agiraph, or another home)"
        )
    assert home.system.format.read_text() == f"{number}\n"


def test_a_home_that_was_used_without_a_format_has_format_0(home: Home) -> None:
    home.system.children.touch()
    with pytest.raises(OtherFormat, match="an older Agiraph: its format is 0"):
        claim_format(home)
    assert not home.system.format.exists()


@pytest.mark.parametrize("text", ["", "one", "1" * 40])
def test_format_that_is_not_a_number_is_refused(home: Home, text: str) -> None:
    home.system.format.write_text(text)
    with pytest.raises(Corrupt, match=r"system/format is damaged: it contains no number"):
        check_format(home)
