"""What is shown of a board: short for models, whole for people."""

from agiraph.board.board import Board
from agiraph.board.view import board_view
from agiraph.core.turns import JsonObject
from tests.unit.board.desk import Desk


def test_an_empty_board_can_be_shown() -> None:
    assert board_view(Board()) == {"stage": None, "nodes": [], "workers": []}


def test_a_model_sees_names_states_and_summaries() -> None:
    desk = Desk()
    desk.worker("ada")
    for name in ("one", "two", "three"):
        desk.node(name)
    desk.complete("one", "ada")
    desk.fail("two")
    desk.run("three", "ada")

    def row(name: str, status: str, worker: str | None, summary: str | None) -> JsonObject:
        about = {"status": status, "worker": worker, "summary": summary}
        return {"id": desk.at(name).id, "name": name, **about}

    assert board_view(desk.board) == {
        "stage": "Stage 1",
        "nodes": [
            row("one", "completed", "ada", "one is done"),
            row("two", "failed", None, "it went wrong"),
            row("three", "running", "ada", None),
        ],
        "workers": [{"id": desk.who("ada").id, "name": "ada", "status": "busy", "node": "three"}],
    }
