"""Context database: what runs teach, and what earlier ones have taught.

The human gateway is the only writer and reader of the database; all of these are for it.
"""

from agiraph.context.learned import FinishedRun
from agiraph.context.relevant import RelevantContext
from agiraph.context.remembered import RememberedSpec
from agiraph.core.ids import AgentId, RunId
from agiraph.core.specs import NotesOf
from agiraph.messages.body import MessageBody


class LearnFromRun(MessageBody):
    """A run, or a cycle of an infinite one, has ended: write down what it taught.

    Coordinator to the human gateway, which adds what the person has answered and said.
    """

    TYPE = "contextdb.learn"
    DURABLE = True
    run: FinishedRun


class RememberThis(MessageBody):
    """Write one thing down. Entity to the human gateway.

    `input_dir` is the folder of the run's input: the project that it is about. `by` is the name of
    who has learned it.
    """

    TYPE = "contextdb.remember"
    DURABLE = True
    agent: AgentId
    run: RunId
    input_dir: str | None = None
    by: str
    what: RememberedSpec


class FindEarlierWork(MessageBody):
    """What has earlier work taught that concerns this goal? Coordinator to the human gateway.

    `tokens` is how much of a prompt it may take up, `notes` whether those of other projects count.
    """

    TYPE = "contextdb.find"
    agent: AgentId
    run: RunId
    goal: str
    input_dir: str | None = None
    tokens: int
    notes: NotesOf = "project"


class EarlierWorkFound(MessageBody):
    """The notes, the best first; or why the database cannot be read. To the requester."""

    TYPE = "contextdb.found"
    found: RelevantContext = RelevantContext()
    reason: str = ""
