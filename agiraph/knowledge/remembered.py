"""Deliberate entries in the knowledge database, by a person, a coordinator or a worker."""

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from agiraph.core.ids import HUMAN_NAME
from agiraph.core.record import Record
from agiraph.core.specs import Names
from agiraph.knowledge.records import KnowledgeNode, node_id

RememberedKind = Literal["decision", "mistake", "pattern", "code_snippet", "preference"]

OF_A_PERSON: Final = 0.9
OF_A_MODEL: Final = 0.7
LONGEST_TITLE: Final = 200
LONGEST_TEXT: Final = 8000
Words = StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_TITLE)
Text = StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_TEXT)


class RememberedSpec(Record):
    """A fact worth knowing in other runs. The descriptions are shown to models."""

    kind: RememberedKind = Field(
        description="decision (with its reason), mistake (with its correction), pattern (a way of "
        "working), code_snippet, preference (of the human)"
    )
    title: Annotated[str, Words] = Field(description="one line by which it is found again")
    text: Annotated[str, Text] = Field(
        description="what holds, when and why; it must make sense without this conversation"
    )
    tags: Names = Field(default=(), max_length=12, description="a few words to find it by")


def remembered_node(
    what: RememberedSpec,
    *,
    cause: str,
    project: str | None,
    by: str,
    now: float,
    agent: str = "",
    run: str = "",
) -> KnowledgeNode:
    """Return the node of a remembered fact; the same `cause` gives the same node.

    A person's entry has more importance than a model's. `by` is its author.
    """
    return KnowledgeNode(
        id=node_id(what.kind, "remembered", cause),
        kind=what.kind,
        title=what.title,
        text=what.text,
        project_id=project,
        tags=what.tags,
        importance=OF_A_PERSON if by == HUMAN_NAME else OF_A_MODEL,
        created=now,
        updated=now,
        agent=agent,
        run=run,
        data={"by": by},
    )
