"""Hand-off: partial work is marked, and has a suggestion how to continue."""

from actors.coordinator.board_notifications import notice
from agiraph.board.commands import CompleteNode, FailNode
from agiraph.board.view import node_row, suggestion, waited_row
from agiraph.core.models import NodeResult
from tests.unit.board.board_driver import BoardDriver


def working() -> BoardDriver:
    driver = BoardDriver()
    driver.busy("report", "ada")
    return driver


def test_complete_result_has_no_suggestion() -> None:
    driver = working()
    driver.done("report", summary="all ten", files=("r.md",))
    assert suggestion(driver.at("report")) == ""
    assert "in part" not in str(waited_row(driver.board, driver.at("report")))


def test_partial_result_is_marked_with_a_suggested_next_node() -> None:
    driver = working()
    [event] = driver.events(
        CompleteNode(
            "report",
            1,
            NodeResult(
                summary="six of ten",
                files=("r.md",),
                missing=" companies 7 to 10 ",
                bound="its turns",
            ),
        )
    )
    node = driver.at("report")
    assert (node.status, node.missing) == ("completed", "companies 7 to 10")
    told = notice(driver.board, event, ())
    assert told is not None
    assert "completed, in part, node 'report': six of ten" in told
    for text in (told, waited_row(driver.board, node)["suggestion"]):
        assert "published in part because its turns" in text
        assert '\'report-rest\' with refs {"report": "report"}' in text
        assert "companies 7 to 10" in text
    assert node_row(driver.board, node)["summary"].endswith("[in part; missing: companies 7 to 10]")


def test_suggested_command_is_accepted_unchanged() -> None:
    driver = working()
    driver.done("report", summary="six of ten", files=("r.md",), missing="the rest")
    driver.node("report-rest", refs={"report": "report"})
    assert driver.at("report-rest").refs["report"].endswith("/published")


def test_failure_names_the_files_of_its_worker() -> None:
    driver = working()
    left = tuple(f"{number}.md" for number in range(14))
    [event] = driver.events(FailNode("report", 1, "its turns are used up", left))
    told = notice(driver.board, event, ())
    assert told is not None
    assert "'report' failed: its turns are used up" in told
    assert "/scratch/: 0.md, 1.md" in told
    assert "11.md and 2 more" in told


def test_failure_without_files_has_no_suggestion() -> None:
    driver = working()
    driver.do(FailNode("report", 1, "no"))
    assert suggestion(driver.at("report")) == ""


def test_a_sub_nodes_end_is_its_parents_concern_until_that_has_ended() -> None:
    driver = working()
    driver.node("part", parent="report")
    [event] = driver.events(FailNode("part", None, "no"))
    assert notice(driver.board, event, ()) is None
    driver.node("late", parent="report")
    [completed] = driver.events(CompleteNode("report", 1, NodeResult(summary="done")))
    told = notice(driver.board, completed, ())
    assert told is not None
    assert told.endswith("yours now: late (pending)")
    [failed] = driver.events(FailNode("late", None, "no"))
    assert notice(driver.board, failed, ()) is not None
