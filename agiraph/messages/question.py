"""Question: questions to the human, and their outcomes."""

from pydantic import Field

from agiraph.core.ids import QUESTION_ID_PATTERN, AgentId, QuestionId, RunId
from agiraph.core.models import Outcome, ProposedAction, QuestionKind, Urgency
from agiraph.core.record import Seconds
from agiraph.messages.body import MessageBody


class AskQuestion(MessageBody):
    """Ask the human. Entity to the human gateway; later answered by `question.answered`.

    `deadline_seconds` count from the first time it was asked. `about` is the action to be approved;
    the gateway writes the text for the human from it. `run` is the run whose end also ends the
    question. A `shared` question is a single question for all entities of the agent that ask it
    under the same id.
    """

    TYPE = "question.ask"
    DURABLE = True
    question_id: QuestionId = Field(pattern=QUESTION_ID_PATTERN)
    agent: AgentId
    from_name: str
    question: str
    channel: str = "cli"
    options: tuple[str, ...] = ()
    deadline_seconds: Seconds | None = None
    default: str | None = None
    urgency: Urgency = "normal"
    kind: QuestionKind = "question"
    about: ProposedAction | None = None
    run: RunId | None = None
    shared: bool = False


class QuestionAnswered(MessageBody):
    """The outcome of a question. Human gateway to the asker.

    answered: `answer` is the human's, given by `by` over `via`. expired: there was no answer in
    time, which is not a refusal; `default` is the answer that the asker set for this case.
    withdrawn: the asker no longer needs an answer. `away` states that the human is away and until
    when, '' if not. `about` is the action: an answer about an action other than the asker's is
    ignored.
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


class WithdrawQuestion(MessageBody):
    """The answer is no longer needed. Asker to the human gateway; an earlier answer stays valid."""

    TYPE = "question.withdraw"
    DURABLE = True
    question_id: QuestionId
    reason: str = ""
