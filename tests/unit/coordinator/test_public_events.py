"""Public events: no text that a person reads is cut without a mark."""

from actors.coordinator.public_events import SUMMARY_CHARACTERS, TASK_CHARACTERS, public_events
from agiraph.board.commands import Command, CompleteNode, CreateNode, FinishRun
from agiraph.core.models import NodeResult
from agiraph.core.specs import NodeSpec
from tests.unit.board.desk import Desk

LONG = "word" * 2500


def told(desk: Desk, command: Command, field: str) -> str:
    """Return a text of the public events that a command leads to."""
    data = [data for event in desk.events(command) for *_, data in public_events(desk.board, event)]
    [text] = [str(one[field]) for one in data if field in one]
    return text


def test_the_event_of_a_completed_run_has_the_whole_result() -> None:
    assert told(Desk(), FinishRun(LONG), "result") == LONG


def test_a_long_text_of_a_node_is_cut_with_its_length() -> None:
    desk = Desk()
    task = told(desk, CreateNode("c-1", NodeSpec(task=LONG, name="long")), "task")
    desk.worker("ada")
    desk.run("long", "ada")
    summary = told(desk, CompleteNode("long", 1, NodeResult(summary=LONG)), "summary")
    assert (len(task), len(summary)) == (TASK_CHARACTERS, SUMMARY_CHARACTERS)
    assert all(text.endswith("... (10000 characters in all)") for text in (task, summary))
