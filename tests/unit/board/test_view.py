"""The views of a board: short for models, whole for people."""

from agiraph.board.board import Board
from agiraph.board.view import board_view
from agiraph.core.turns import JsonObject
from tests.unit.board.board_driver import BoardDriver


def test_an_empty_board_can_be_shown() -> None:
    assert board_view(Board()) == {"stage": None, "nodes": [], "workers": []}


def test_a_model_sees_names_states_and_summaries() -> None:
    driver = BoardDriver()
    driver.worker("ada")
    for name in ("one", "two", "three"):
        driver.node(name)
    driver.complete("one", "ada")
    driver.fail("two")
    driver.run("three", "ada")

    def row(name: str, status: str, worker: str | None, summary: str | None) -> JsonObject:
        about = {"status": status, "worker": worker, "summary": summary}
        return {"id": driver.at(name).id, "name": name, **about}

    assert board_view(driver.board) == {
        "stage": "Stage 1",
        "nodes": [
            row("one", "completed", "ada", "one is done"),
            row("two", "failed", None, "it went wrong"),
            row("three", "running", "ada", None),
        ],
        "workers": [{"id": driver.who("ada").id, "name": "ada", "status": "busy", "node": "three"}],
    }
