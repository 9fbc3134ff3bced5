"""Single inference: the input of one answer, and its events."""

from pathlib import Path

from actors.worker.single_inference import HEADLINE_CHARACTERS, headline, shown_refs
from agiraph.agent.records import (
    AnswerPublished,
    AssignmentTaken,
    ConversationRecord,
    ModelAnswered,
)
from agiraph.agent.transcript import Transcript
from agiraph.core.ids import NodeId, RunId
from agiraph.core.models import Assignment, StageContract, WorkNode
from agiraph.core.specs import WorkMode
from agiraph.core.turns import UserTurn


def assignment_taken(name: str, mode: WorkMode) -> AssignmentTaken:
    node = WorkNode(id=NodeId(name), name=name, task="t", mode=mode)
    assignment = Assignment(node=node, spec="t", contract=StageContract())
    return AssignmentTaken(content=name, run=RunId("r"), assignment=assignment, message=name, ts=0)


def test_the_files_behind_a_ref_are_shown_in_order(tmp_path: Path) -> None:
    published = tmp_path / "nodes/a/published"
    (published / "deep").mkdir(parents=True)
    (published / "b.md").write_text("second\n")
    (published / "deep/c.md").write_text("third")
    (published / "raw.bin").write_bytes(b"\xff\xfe")
    (published / "link.md").symlink_to("/etc/passwd")
    shown = shown_refs(tmp_path, {"all": "nodes/a/published"}, 1000)
    assert [(file.ref, file.name, file.text) for file in shown] == [
        ("all", "nodes/a/published/b.md", "second"),
        ("all", "nodes/a/published/deep/c.md", "third"),
        ("all", "nodes/a/published/raw.bin", "[not text: 2 bytes]"),
    ]


def test_truncated_ref_shows_how_much_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x" * 30)
    (tmp_path / "b.md").write_text("y" * 30)
    first, second = shown_refs(tmp_path, {"a": "a.md", "b": "b.md"}, 40)
    assert first.text == "x" * 30
    assert second.text == f"{'y' * 10}\n[cut: 10 of 30 characters are shown]"


def test_long_answer_is_summarized_by_its_beginning() -> None:
    assert headline("short") == "short"
    told = headline("a" * (HEADLINE_CHARACTERS + 1))
    assert told.endswith("[... the whole answer: answer.md]")


def test_single_inference_worker_starts_each_node_without_earlier_turns() -> None:
    once: WorkMode = "single_inference"
    first: list[ConversationRecord] = [
        assignment_taken("one", once),
        ModelAnswered(text="an answer", ts=0),
        AnswerPublished(summary="s", ts=0),
    ]
    transcript = Transcript.fold(first)
    assert transcript.is_published
    transcript.apply(assignment_taken("two", once))
    assert transcript.turns == [UserTurn(content="two")]
    assert not transcript.is_published
    transcript.apply(ModelAnswered(text="cut", stop_reason="max_tokens", ts=0))
    assert transcript.progress.is_cut_off


def test_multi_turn_worker_keeps_earlier_turns() -> None:
    many: WorkMode = "multi_turn"
    records: list[ConversationRecord] = [
        assignment_taken("one", many),
        ModelAnswered(text="an answer", ts=0),
        assignment_taken("two", many),
    ]
    assert len(Transcript.fold(records).turns) == 3
