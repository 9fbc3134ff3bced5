"""What is shown of a board: short for models, whole for people."""

from agiraph.board.board import Board
from agiraph.board.view import board_view
from tests.unit.board.desk import Desk


def test_an_empty_board_can_be_shown() -> None:
    assert board_view(Board()) == {"stage": None, "nodes": [], "workers": []}


def test_a_model_sees_names_states_and_summaries() -> None:
    desk = Desk()
    desk.worker("ada")
    desk.node("one")
    desk.node("two")
    desk.complete("one", "ada")
    desk.fail("two")
    desk.node("three")
    desk.run("three", "ada")
    assert board_view(desk.board) == {
        "stage": "Stage 1",
        "nodes": [
            {
                "id": desk.at("one").id,
                "name": "one",
                "status": "completed",
                "worker": "ada",
                "summary": "one is done",
            },
            {
                "id": desk.at("two").id,
                "name": "two",
                "status": "failed",
                "worker": None,
                "summary": "it went wrong",
            },
            {
                "id": desk.at("three").id,
                "name": "three",
                "status": "running",
                "worker": "ada",
                "summary": None,
            },
        ],
        "workers": [
            {"id": desk.who("ada").id, "name": "ada", "status": "busy", "node": "three"},
        ],
    }
