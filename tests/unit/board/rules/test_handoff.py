"""Hand-off: work that was cut short is marked so, and comes with a suggestion how to continue."""

from actors.coordinator.board_notifications import notice
from agiraph.board.commands import CompleteNode, FailNode
from agiraph.board.view import node_row, suggestion, waited_row
from agiraph.core.models import NodeResult
from tests.unit.board.desk import Desk


def working() -> Desk:
    desk = Desk()
    desk.busy("report", "ada")
    return desk


def test_a_whole_result_suggests_nothing() -> None:
    desk = working()
    desk.done("report", summary="all ten", files=("r.md",))
    assert suggestion(desk.at("report")) == ""
    assert "in part" not in str(waited_row(desk.board, desk.at("report")))


def test_a_result_in_part_is_marked_and_names_what_follows() -> None:
    desk = working()
    [event] = desk.events(
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
    node = desk.at("report")
    assert (node.status, node.missing) == ("completed", "companies 7 to 10")
    told = notice(desk.board, event, ())
    assert told is not None
    assert "completed, in part, node 'report': six of ten" in told
    for text in (told, waited_row(desk.board, node)["suggestion"]):
        assert "published in part because its turns" in text
        assert '\'report-rest\' with refs {"report": "report"}' in text
        assert "companies 7 to 10" in text
    assert node_row(desk.board, node)["summary"].endswith("[in part; missing: companies 7 to 10]")


def test_the_suggestion_can_be_followed_as_it_stands() -> None:
    desk = working()
    desk.done("report", summary="six of ten", files=("r.md",), missing="the rest")
    desk.node("report-rest", refs={"report": "report"})
    assert desk.at("report-rest").refs["report"].endswith("/published")


def test_a_failure_names_what_its_worker_left_behind() -> None:
    desk = working()
    left = tuple(f"{number}.md" for number in range(14))
    [event] = desk.events(FailNode("report", 1, "its turns are used up", left))
    told = notice(desk.board, event, ())
    assert told is not None
    assert "'report' failed: its turns are used up" in told
    assert "/scratch/: 0.md, 1.md" in told
    assert "11.md and 2 more" in told


def test_a_failure_that_left_nothing_suggests_nothing() -> None:
    desk = working()
    desk.do(FailNode("report", 1, "no"))
    assert suggestion(desk.at("report")) == ""


def test_a_sub_nodes_end_is_its_parents_concern_until_that_has_ended() -> None:
    desk = working()
    desk.node("part", parent="report")
    [event] = desk.events(FailNode("part", None, "no"))
    assert notice(desk.board, event, ()) is None
    desk.node("late", parent="report")
    [completed] = desk.events(CompleteNode("report", 1, NodeResult(summary="done")))
    told = notice(desk.board, completed, ())
    assert told is not None
    assert told.endswith("yours now: late (pending)")
    [failed] = desk.events(FailNode("late", None, "no"))
    assert notice(desk.board, failed, ()) is not None
