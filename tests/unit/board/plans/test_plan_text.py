"""`_plan.md` holds the board's part between two marks and the coordinator's own text around it."""

from agiraph.board.plans.plan_page import BEGIN, END, with_own_text


def test_the_boards_part_is_replaced_and_the_rest_stays() -> None:
    first = with_own_text("# Plan\n\nold", "", "")
    assert first.startswith(BEGIN)
    own = f"My roadmap.\n\n{first}\nRisks: few.\n"
    second = with_own_text("# Plan\n\nnew", own, first)
    assert second.startswith("My roadmap.\n\n" + BEGIN)
    assert second.endswith("Risks: few.\n")
    assert "new" in second
    assert "old" not in second
    assert with_own_text("# Plan\n\nnew", second, second) == second


def test_a_file_that_the_coordinator_replaced_is_its_own_text() -> None:
    written = with_own_text("# Plan", "", "")
    text = with_own_text("# Plan", "# My own plan\n", written)
    assert text.startswith("# My own plan\n\n" + BEGIN)
    assert text.count(END) == 1


def test_a_page_of_an_older_version_has_no_text_of_its_own() -> None:
    older = "# Plan\n\nGoal: x\n"
    assert with_own_text("# Plan\n\nGoal: x", older, older).startswith(BEGIN)
