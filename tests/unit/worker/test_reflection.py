"""The notes on earlier nodes for a worker that begins a node."""

from pathlib import Path

import pytest

from actors.worker.files import WorkerFiles
from actors.worker.reflection import still_to_know
from agiraph.agent.records import (
    AssignmentTaken,
    ConversationCompacted,
    ConversationEpochBegan,
    ConversationRecord,
    NodeClosed,
    StateChanged,
)
from agiraph.agent.transcript import Transcript
from agiraph.core.ids import RunId
from agiraph.core.models import Assignment, StageContract
from agiraph.core.turns import UserTurn
from agiraph.storage.home import WorkerHome
from tests.unit.worker.test_files import ADA, node


@pytest.fixture
def files(tmp_path: Path) -> WorkerFiles:
    return WorkerFiles(WorkerHome(tmp_path / "ada-1"), ADA)


def conversation_with_work(*more: ConversationRecord) -> Transcript:
    """Return the conversation of a worker that has done a node."""
    given = Assignment(node=node(1), spec="t", contract=StageContract())
    began = ConversationEpochBegan(epoch="e", after="", ts=1.0)
    taken = AssignmentTaken(content="Do it", run=RunId("r"), assignment=given, message="00", ts=1.0)
    closed = NodeClosed(node_id=given.node.id, status="completed", ts=2.0)
    return Transcript.fold((began, taken, closed, *more))


def test_knowledge_in_the_conversation_is_not_repeated(files: WorkerFiles) -> None:
    assert still_to_know(files, Transcript(), 1000) == "", "there is nothing yet"
    files.note_completion(node(1), "Did 1.", "")
    assert still_to_know(files, conversation_with_work(), 1000) == ""


def test_lesson_of_a_node_is_shown_with_the_next_node(files: WorkerFiles) -> None:
    files.note_completion(node(1), "Did 1.", "Use awk.")
    told = still_to_know(files, conversation_with_work(), 1000)
    assert told.endswith("your last node, part 1. They are also in your `memory.md`:\n\nUse awk.")
    assert still_to_know(files, conversation_with_work(), 0) == ""
    transcript = conversation_with_work()
    transcript.progress.learned = "Use awk. "
    assert still_to_know(files, transcript, 1000) == "", "it said so itself when it published"


@pytest.mark.parametrize(
    "lost", [Transcript(), conversation_with_work(StateChanged(what="restored", ts=3.0))]
)
def test_lost_conversation_gets_all_knowledge(files: WorkerFiles, lost: Transcript) -> None:
    files.note_completion(node(1), "Did 1.", "Use awk.")
    told = still_to_know(files, lost, 1000)
    assert "Your knowledge from your earlier nodes" in told
    assert "- part 1: Did 1." in told


def test_the_last_assignment_is_known_until_the_conversation_is_shortened() -> None:
    turns, tokens = (UserTurn(content="Shorter"),), {"tokens_before": 9, "tokens_after": 5}
    compacted = ConversationCompacted(turns=turns, cause="full", ts=3.0, **tokens)
    before = conversation_with_work().before
    assert before is not None
    assert before.assignment.node.name == "part 1"
    assert conversation_with_work(compacted).before is None
