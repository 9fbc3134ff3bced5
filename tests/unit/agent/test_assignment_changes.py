"""The text about a changed node names each term with its old and its new value."""

from agiraph.agent.assignment_changes import TASK_CHARACTERS, changes_in_words
from agiraph.core.ids import NodeId
from agiraph.core.models import WorkNode
from agiraph.core.node_changes import NodeUpdate

NODE = WorkNode(id=NodeId("n1"), name="report", task="Write it")


def test_only_changed_terms_are_named() -> None:
    new = NODE.model_copy(update={"checks": ("test -s a.md",), "max_iterations": 7})
    assert changes_in_words(NODE, new).splitlines()[1:] == [
        "- checks: none -> `test -s a.md`",
        "- max_iterations: the limit of the stage -> 7",
    ]


def test_long_task_is_cut() -> None:
    new = NODE.model_copy(update={"task": "x" * 3 * TASK_CHARACTERS})
    text = changes_in_words(NODE, new)
    assert "- task, before: Write it\n" in text
    assert len(text) < TASK_CHARACTERS + 500
    assert text.endswith(f"({3 * TASK_CHARACTERS} characters in all)")


def test_acceptance_names_its_reason() -> None:
    new = NODE.model_copy(update={"update": NodeUpdate(number=1, accepted="the test is wrong")})
    assert "accepted even if checks fail, because: the test is wrong." in changes_in_words(
        NODE, new
    )
