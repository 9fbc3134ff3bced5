"""Who may say what: an address is vouched for by the router, a name is not."""

import pytest

from actors.entity.trust import may_say, shown_name
from agiraph.ids import AgentId, NodeId, QuestionId
from agiraph.messages import (
    Body,
    CancelNode,
    ChildFailed,
    DoorFailed,
    ModelDelta,
    Pause,
    QuestionAnswered,
    Text,
)

AGENT = AgentId("survey-1")
ADA = "survey-1/ada-7f3c1a"


@pytest.mark.parametrize(
    ("body", "believed"),
    [
        (ModelDelta(call=b"x", text="y"), "broker"),
        (DoorFailed(kind="out_of_budget", message="all is spent"), "broker"),
        (QuestionAnswered(question_id=QuestionId("q"), answer="yes", by="me"), "human"),
        (Pause(), "human"),
        (CancelNode(node_id=NodeId("n")), "survey-1/coordinator"),
        (
            ChildFailed.model_validate({"address": ADA, "incarnation": 1, "cause": "x"}),
            "supervisor",
        ),
    ],
)
def test_only_the_one_whose_word_it_is_is_believed(body: Body, believed: str) -> None:
    everyone = ("human", "broker", "supervisor", "recorder", "survey-1/coordinator", ADA)
    assert [sender for sender in everyone if may_say(sender, body, AGENT)] == [believed]


def test_text_comes_from_the_team_and_from_the_human_alone() -> None:
    text = Text(content="hello", from_name="ada")
    assert may_say(ADA, text, AGENT)
    assert may_say("console/1", text, AGENT)
    assert not may_say("other-2/ada-7f3c1a", text, AGENT)
    assert not may_say("broker", text, AGENT)


def test_nobody_speaks_under_the_humans_name_but_the_human() -> None:
    assert shown_name(ADA, "human") == ADA
    assert shown_name(ADA, "coordinator") == ADA
    assert shown_name(ADA, "Ada") == "Ada"
    assert shown_name("console/3", "root") == "human"
    assert shown_name("survey-1/coordinator", "human") == "coordinator"
