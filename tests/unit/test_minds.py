"""Model requests that are answered by hand: files of a request, forms of an answer, the report."""

import threading
from pathlib import Path

import pytest

from agiraph.core.turns import AssistantTurn, ToolCall, ToolTurn, UserTurn
from tests.fakes.replies import Call, Reply, SeenRequest
from tests.minds.by_hand import AnswersByHand, entity_of, read_answer
from tests.minds.report import played, table

SYSTEM = "You are ada, a worker."
FIRST = SeenRequest("anthropic", "by-hand", SYSTEM, (UserTurn(content="Go."),), ("look",), raw=b"1")
ANSWER = "text: I look.\ncalls: [{name: look, arguments: {path: .}}]\nlost: the path was wrong\n"


def later(text: str = "It is a file.") -> SeenRequest:
    made = ToolCall(id="a", name="look", arguments={"path": "."})
    turns = (
        AssistantTurn(text="I look.", tool_calls=(made,)),
        ToolTurn(call_id="a", name="look", content=text),
    )
    return SeenRequest("anthropic", "by-hand", SYSTEM, (*FIRST.turns, *turns), ("look",), raw=b"2")


def test_answer_is_taken_from_the_file_of_its_request(tmp_path: Path) -> None:
    hand, got = AnswersByHand(tmp_path), list[Reply]()
    asked = threading.Thread(target=lambda: got.append(hand(FIRST)))
    (tmp_path / "ada-000.answer.yaml").write_text(ANSWER)
    asked.start()
    asked.join(20)
    assert got == [Reply(text="I look.", calls=(Call("look", {"path": "."}),))]
    assert hand(FIRST) == got[0]  # an entity that was killed asks again
    assert not (tmp_path / "ada-001.md").exists()
    (tmp_path / "ada-001.answer.yaml").write_text("text: Done.")
    assert hand(later()) == Reply(text="Done.")
    new = (tmp_path / "ada-001.md").read_text()
    assert ("It is a file." in new, "Go." in new) == (True, False)
    assert "Go." in (tmp_path / "ada-001.full.md").read_text()
    [(name, one)] = played(tmp_path).items()
    assert (name, one.turns, one.tools["look"], one.lost) == ("ada", 2, 1, ["the path was wrong"])
    assert "lost by ada: the path was wrong" in [*table(tmp_path)]


def test_waiting_request_fails_when_the_examination_is_over(tmp_path: Path) -> None:
    hand = AnswersByHand(tmp_path)
    hand.close()
    with pytest.raises(ValueError, match="over"):
        hand(FIRST)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [", "no YAML"),
        ("- text", "a mapping"),
        ("words: x", "text, calls, lost"),
        ("lost: x", "a text or calls"),
        ("calls: [look]", "a call has a name"),
        ("calls: [{name: read}]", "no tool 'read'; the tools are look"),
    ],
)
def test_wrong_answer_is_refused_with_its_key(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_answer(text, {"look"})


@pytest.mark.parametrize(
    ("system", "entity"),
    [
        ("You are north-star, the coordinator of a team.", "coordinator"),
        ("You are **Ada**, a worker.", "ada"),
        ("Summarize.", "other"),
    ],
)
def test_entity_is_named_by_its_system_prompt(system: str, entity: str) -> None:
    assert entity_of(SeenRequest("anthropic", "m", system, ())) == entity
