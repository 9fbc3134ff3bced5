"""Which thing a typed name means: exactness first, then the only beginning, else the candidates."""

import pytest

from agiraph.core.errors import Ambiguous, InvalidInput
from agiraph.core.naming import ERROR_CHARACTERS, cut_at_sentence, error_line, meant

NAMES = [
    ("survey", "survey-1a2b3c"),
    ("survey-1a2b3c", "survey-1a2b3c"),
    ("Sales", "sales-4d5e6f"),
    ("sales-4d5e6f", "sales-4d5e6f"),
    ("ada", "ada-1"),
    ("adam", "adam-2"),
]


@pytest.mark.parametrize(
    ("typed", "thing"),
    [
        ("survey", "survey-1a2b3c"),
        ("SURVEY", "survey-1a2b3c"),
        ("su", "survey-1a2b3c"),
        ("sales", "sales-4d5e6f"),
        ("Sal", "sales-4d5e6f"),
        ("sales-4", "sales-4d5e6f"),
        ("ada", "ada-1"),
        ("adam", "adam-2"),
        (" su ", "survey-1a2b3c"),
    ],
)
def test_exact_name_wins_before_a_unique_prefix(typed: str, thing: str) -> None:
    assert meant("agent", typed, NAMES) == thing


def test_ambiguous_prefix_lists_a_few_matching_names() -> None:
    with pytest.raises(Ambiguous) as refused:
        meant("agent", "s", NAMES)
    told = "agent 's' could be any of survey-1a2b3c, sales-4d5e6f: type more of it"
    assert str(refused.value) == told
    many = [(f"node-{number}", number) for number in range(30)]
    with pytest.raises(Ambiguous, match=r"could be any of 0, 1, .*, 4 and 25 more: type more"):
        meant("node", "node", many)


@pytest.mark.parametrize("typed", ["", " ", "zoe"])
def test_prefix_without_a_match_is_unknown(typed: str) -> None:
    with pytest.raises(InvalidInput, match=r"unknown agent .*\(known: ada-1, adam-2, "):
        meant("agent", typed, NAMES)


def test_the_nearest_names_are_guessed() -> None:
    with pytest.raises(InvalidInput, match=r"unknown agent 'adan', did you mean 'ada' or 'adam'\?"):
        meant("agent", "adan", NAMES, known=["ada-1 (ada)"])


def test_long_text_is_cut_at_the_end_of_a_sentence() -> None:
    assert cut_at_sentence("One. Two.", 20) == "One. Two."
    assert cut_at_sentence("It holds 1.5 m. Then it breaks.", 20) == "It holds 1.5 m."
    assert cut_at_sentence("first line\nsecond line", 15) == "first line"
    assert cut_at_sentence("x" * 30, 20) == "x" * 20


def test_error_of_another_program_becomes_one_short_line() -> None:
    assert error_line(" a\n\x1b[2Jb\u202e\x00c ") == "a [2Jb⟨U+202E⟩ c"
    shown = error_line("E" * 5_000_000)
    assert len(shown) == ERROR_CHARACTERS
    assert shown.endswith("E... (5000000 characters in all)")
