"""Public events: texts are cut with a mark, and events reported again are the same."""

from actors.coordinator.public_events import SUMMARY_CHARACTERS, TASK_CHARACTERS, public_events
from agiraph.board.commands import (
    AssignNode,
    Command,
    CompleteNode,
    CreateNode,
    FinishRun,
    StartNode,
)
from agiraph.board.events import BoardEvent
from agiraph.core.models import NodeResult
from agiraph.core.specs import NodeSpec
from tests.unit.board.board_driver import BoardDriver

LONG = "word" * 2500


def told(driver: BoardDriver, command: Command, field: str) -> str:
    """Return a text of the public events that a command leads to."""
    data = [
        data for event in driver.events(command) for *_, data in public_events(driver.board, event)
    ]
    [text] = [str(one[field]) for one in data if field in one]
    return text


def test_the_event_of_a_completed_run_has_the_whole_result() -> None:
    assert told(BoardDriver(), FinishRun(LONG), "result") == LONG


def test_a_long_text_of_a_node_is_cut_with_its_length() -> None:
    driver = BoardDriver()
    task = told(driver, CreateNode("c-1", NodeSpec(task=LONG, name="long")), "task")
    driver.worker("ada")
    driver.run("long", "ada")
    summary = told(driver, CompleteNode("long", 1, NodeResult(summary=LONG)), "summary")
    assert (len(task), len(summary)) == (TASK_CHARACTERS, SUMMARY_CHARACTERS)
    assert all(text.endswith("... (10000 characters in all)") for text in (task, summary))


def test_repeated_report_of_a_node_has_events_of_the_same_types() -> None:
    driver = BoardDriver()
    driver.worker("ada")
    commands: list[Command] = [
        CreateNode("c-1", NodeSpec(task="Look", name="look")),
        AssignNode("look", "ada"),
        StartNode("look", "ada", 1),
        CompleteNode("look", 1, NodeResult(summary="Seen.")),
    ]
    happened: list[BoardEvent] = []
    first = []
    for command in commands:
        for event in driver.events(command):
            happened.append(event)
            first.append([type for type, *_ in public_events(driver.board, event)])
    again = [[type for type, *_ in public_events(driver.board, event)] for event in happened]
    assert again == first
    assert sum(types.count("worker.idle") for types in first) == 1
