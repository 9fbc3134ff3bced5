"""Knowledge database: knowledge from runs, and knowledge of earlier runs.

The human gateway is the only writer and reader of the database and receives all requests.
"""

from agiraph.core.ids import AgentId, RunId
from agiraph.core.specs import NotesOf
from agiraph.knowledge.learned import FinishedRun
from agiraph.knowledge.relevant import RelevantKnowledge
from agiraph.knowledge.remembered import RememberedSpec
from agiraph.messages.body import MessageBody


class LearnFromRun(MessageBody):
    """A run, or a cycle of an infinite run, has ended: store its knowledge.

    Coordinator to the human gateway, which adds the person's answers and messages.
    """

    TYPE = "knowledge.learn"
    DURABLE = True
    run: FinishedRun


class RememberThis(MessageBody):
    """Store one fact. Entity to the human gateway.

    `input_dir` is the folder of the run's input: the project of the fact. `by` is the name of the
    author.
    """

    TYPE = "knowledge.remember"
    DURABLE = True
    agent: AgentId
    run: RunId
    input_dir: str | None = None
    by: str
    what: RememberedSpec


class FindEarlierWork(MessageBody):
    """Request the notes of earlier work that concern this goal. Coordinator to the human gateway.

    `tokens` is the limit of the notes in a prompt, `notes` whether to include other projects.
    """

    TYPE = "knowledge.find"
    agent: AgentId
    run: RunId
    goal: str
    input_dir: str | None = None
    tokens: int
    notes: NotesOf = "project"


class EarlierWorkFound(MessageBody):
    """The notes, the best first; or why the database cannot be read. To the requester."""

    TYPE = "knowledge.found"
    found: RelevantKnowledge = RelevantKnowledge()
    reason: str = ""
