"""Question: the human is asked."""

from agiraph.core.ids import AgentId, QuestionId
from agiraph.core.models import Outcome, ProposedAction, QuestionKind, Urgency
from agiraph.messages.body import Body


class AskQuestion(Body):
    """Ask the human. Entity to the human gateway; later answered by `question.answered`.

    `deadline_seconds` count from when it was first asked. `about` is what an approval is asked
    for. A `shared` question is one for all entities of the agent that ask it under that id.
    """

    TYPE = "question.ask"
    DURABLE = True
    question_id: QuestionId
    agent: AgentId
    from_name: str
    question: str
    channel: str = "cli"
    options: tuple[str, ...] = ()
    deadline_seconds: float | None = None
    default: str | None = None
    urgency: Urgency = "normal"
    kind: QuestionKind = "question"
    about: ProposedAction | None = None
    shared: bool = False


class QuestionAnswered(Body):
    """What became of a question. Human gateway to the one who asked.

    answered: `answer` is the human's, given by `by` over `via`. expired: nobody answered in time,
    `default` is what the asker said would hold then. withdrawn: it is no longer asked. `away` says
    that the human is away and until when, '' if he is not. `about` is what was asked for: an answer
    about another deed than the asker's is none.
    """

    TYPE = "question.answered"
    DURABLE = True
    question_id: QuestionId
    answer: str
    by: str
    outcome: Outcome = "answered"
    via: str = ""
    at: float | None = None
    default: str | None = None
    question: str = ""
    kind: QuestionKind = "question"
    away: str = ""
    about: ProposedAction | None = None


class WithdrawQuestion(Body):
    """I no longer need the answer. Asker to the human gateway; an answer that came first stands."""

    TYPE = "question.withdraw"
    DURABLE = True
    question_id: QuestionId
    reason: str = ""
